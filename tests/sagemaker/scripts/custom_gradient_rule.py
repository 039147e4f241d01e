"""A rule in the manner of smdebug: gradients whose mean is below a threshold."""

from smdebug.rules.rule import Rule


class CustomGradientRule(Rule):
    def __init__(self, base_trial, threshold=10.0):
        super().__init__(base_trial, "")
        self.threshold = float(threshold)

    def set_required_tensors(self, step):
        for name in self.base_trial.tensor_names(collection="gradients"):
            self.req_tensors.add(name, steps=[step])

    def invoke_at_step(self, step):
        for name in self.req_tensors.get():
            size = self.base_trial.tensor(name.name).reduction_value(step, "mean", abs=True)
            if size < self.threshold:
                return True
        return False
