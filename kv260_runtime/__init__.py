"""Runs compiled XModels and profiles them: workloads, the profile job, reports and the command line."""
