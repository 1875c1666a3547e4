"""Sensor files to joules per execution: readers, sampler, recorder, sessions, markers and figures."""
