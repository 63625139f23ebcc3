"""What a run shows of itself while it works: a model that knows no terminal, and two views."""
