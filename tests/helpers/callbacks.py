"""Callbacks that tests share."""


class StopAfter:
    """Counts epochs, and asks to stop at the end of the one with this number."""

    def __init__(self, number):
        self.number, self.seen = number, 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.seen += context.task_name == "epoch"
        return context.task_name == "epoch" and self.seen == self.number
