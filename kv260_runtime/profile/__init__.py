"""The profile job: plan, runs, evaluation."""
