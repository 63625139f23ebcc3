"""What Dataflow's launcher runs to start the corpus job."""

from beam_pipeline.flex import launch

if __name__ == "__main__":
    launch("corpus")
