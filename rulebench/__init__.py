"""A benchmark of rules: small trainings whose fault is known, and healthy ones that look odd.

``python -m rulebench`` trains them, lets the rules judge what was captured, and writes how often
a fault was found and named, and how often a healthy training was accused.
"""
