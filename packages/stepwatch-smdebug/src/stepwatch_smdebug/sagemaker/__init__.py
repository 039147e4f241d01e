"""SageMaker's API, answered on this machine.

Requests become jobs of ``stepwatch.jobs``, whose state is described as SageMaker does. Nothing is
kept here: all is in the records of the jobs, so servers come and go.
"""
