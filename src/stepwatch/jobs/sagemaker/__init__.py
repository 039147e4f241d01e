"""Jobs, driven by SageMaker's own clients: the API that they speak, answered on this machine.

Requests become jobs of ``stepwatch.jobs``, and what is asked of those is said in SageMaker's words.
Nothing is kept here: all is in the records of the jobs, so servers come and go.
"""
