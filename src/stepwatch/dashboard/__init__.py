"""A page that shows runs, live while they train: ``stepwatch dash``.

``api`` has the answers, pure functions of a trial; ``app`` gives them to browsers.
"""
