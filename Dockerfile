# One image for the template's launcher and for the workers: launching and running use the same
# versions of everything. docs/flex-template.md tells how it is built and used.
#
#   docker build --build-arg JOB=corpus --tag IMAGE .     # or JOB=traces

# The version of Beam is that of pyproject.toml, the version of Python that of `python` below.
FROM apache/beam_python3.11_sdk:2.77.0 AS beam

# UNVERIFIED: no registry of images was reachable where this was written. Google's own sample for
# images like this one names the tag.
FROM gcr.io/dataflow-templates-base/python311-template-launcher-base:20230622_RC00 AS launcher

FROM python:3.11.14-slim-bookworm AS python
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore

# Wheels are made with the pinned build tools, so that nothing is fetched but what has a hash.
FROM python AS dependencies
WORKDIR /source
COPY requirements/build.txt requirements/image.txt requirements/
RUN pip install --no-cache-dir --require-hashes --requirement requirements/build.txt \
    && pip wheel --no-cache-dir --require-hashes --no-deps --no-build-isolation \
        --wheel-dir /wheels --requirement requirements/image.txt

FROM dependencies AS package
COPY pyproject.toml setup.py README.md LICENSE ./
COPY transforms transforms
COPY beam_pipeline beam_pipeline
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /package .

FROM python
COPY --from=beam /opt/apache/beam /opt/apache/beam
COPY --from=launcher /opt/google/dataflow/python_template_launcher /opt/google/dataflow/python_template_launcher
RUN --mount=type=bind,from=dependencies,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --no-deps /wheels/*.whl
RUN --mount=type=bind,from=package,source=/package,target=/package \
    pip install --no-cache-dir --no-index --no-deps /package/*.whl && pip check

# x86-64-v3 (AVX2, BMI, FMA): Intel since Haswell and AMD since Zen, so every x86 machine family but
# N1 in zones with older processors. Measured, it is within a tenth of the host's own target and
# four times as fast as the generic one. If NUMBA_CPU_FEATURES were unset, numba would add the
# features of the machine that builds the image, and workers of another kind would compile anew.
ARG NUMBA_CPU_NAME=x86-64-v3
ENV NUMBA_CPU_NAME=${NUMBA_CPU_NAME} NUMBA_CPU_FEATURES="" NUMBA_CACHE_DIR=/opt/corpusbeam/numba
# A folder that it cannot write numba does not read either, so any user may write this one.
RUN python -m beam_pipeline.warm && python -m beam_pipeline.warm --check \
    && chmod -R a+rwX "${NUMBA_CACHE_DIR}"

# Dataflow starts a worker process for each core, so the tokenizer shall not start more threads.
ENV RAYON_NUM_THREADS=1
# All that workers need is installed; a virtual environment for each process would only cost time.
ENV RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT=1

# Two templates need two images, which differ in this variable alone: `gcloud dataflow flex-template
# build` does not take --env together with --image.
ARG JOB=corpus
ENV FLEX_TEMPLATE_PYTHON_PY_FILE=/template/${JOB}_main.py
COPY templates/corpus_main.py templates/traces_main.py /template/
RUN test -f "${FLEX_TEMPLATE_PYTHON_PY_FILE}"

ARG REVISION=unknown
LABEL org.opencontainers.image.title="corpusbeam" \
      org.opencontainers.image.description="Builds training-ready token shards on Dataflow: launcher and worker" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}"

# There is no USER: by others' reports Dataflow mounts the folders that the harness writes as root
# and starts it as the image's user, so that with another one workers do not start.
ENTRYPOINT ["/opt/apache/beam/boot"]
