"""TensorFlow, where a loop of the script's own trains with gradient tapes."""

from .hook import TensorFlowHook as TensorFlowHook
