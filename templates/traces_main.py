"""What Dataflow's launcher runs to start the traces job."""

from beam_pipeline.flex import launch

if __name__ == "__main__":
    launch("traces")
