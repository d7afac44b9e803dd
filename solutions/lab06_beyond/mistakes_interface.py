"""Mistakes in what BatchRenorm1d is and holds: names, kinds, shapes, first values, arguments."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab06_beyond.plain import AFFINE, BUFFER_MEAN, BUFFER_STD, PLAIN_RENORM, RUNNING_STD, in_renorm

WEIGHT = "self.weight = nn.Parameter(torch.ones(num_features))"
BIAS = "self.bias = nn.Parameter(torch.zeros(num_features))"

INTERFACE: tuple[Mistake, ...] = (
    in_renorm(
        "one-weight-for-all",
        "interface",
        "weight and bias hold one number each, not one per channel",
        "weight has another shape than (C,); all channels learn together.",
        "nn.Parameter(torch.tensor(n)) makes one number whose value is n. How many numbers does the layer learn?",
        "affine",
        (WEIGHT, "self.weight = nn.Parameter(torch.tensor(1.0))"),
        (BIAS, "self.bias = nn.Parameter(torch.tensor(0.0))"),
        (AFFINE, "return self.weight * x_hat + self.bias"),
        seen_in=("hand-written batch renormalization",),
    ),
    in_renorm(
        "affine-not-parameters",
        "interface",
        "weight and bias are plain tensors, not parameters",
        "parameters() is empty, so an optimizer trains nothing and state_dict() does not hold them.",
        "list(m.parameters()) is what an optimizer is given. What does yours contain?",
        "as-a-module",
        (WEIGHT, "self.weight = torch.ones(num_features, requires_grad=True)"),
        (BIAS, "self.bias = torch.zeros(num_features, requires_grad=True)"),
    ),
    in_renorm(
        "running-values-parameters",
        "interface",
        "The running values are parameters",
        "They appear in parameters(), so an optimizer and its weight decay get at them.",
        "Who changes running_mean: the optimizer, or the forward pass? What does torch call such a tensor?",
        "as-a-module",
        (BUFFER_MEAN, "self.running_mean = nn.Parameter(torch.zeros(num_features), requires_grad=False)"),
        (BUFFER_STD, "self.running_std = nn.Parameter(torch.ones(num_features), requires_grad=False)"),
    ),
    in_renorm(
        "running-values-plain-attributes",
        "interface",
        "The running values are plain attributes, not buffers",
        "They are missing in state_dict(), and .to(dtype) leaves them behind.",
        "Save the layer, load it into a fresh one, evaluate both. What got lost on the way?",
        "as-a-module",
        (BUFFER_MEAN, "self.running_mean = torch.zeros(num_features)"),
        (BUFFER_STD, "self.running_std = torch.ones(num_features)"),
    ),
    in_renorm(
        "running-variance-in-place-of-std",
        "interface",
        "The second buffer is called running_var",
        "A saved state does not fit: running_std is missing, running_var is not expected.",
        "Compare the keys of your state_dict with those that the task names.",
        "batch-renorm-running",
        (BUFFER_STD, BUFFER_STD.replace("running_std", "running_var")),
        (
            "    def forward(self, x):\n",
            "    @property\n    def running_std(self):\n        return self.running_var\n\n    def forward(self, x):\n",
        ),
        (RUNNING_STD, RUNNING_STD.replace("self.running_std +=", "self.running_var +=")),
    ),
    in_renorm(
        "batches-counted",
        "interface",
        "There is a third buffer, num_batches_tracked",
        "state_dict() has one key too many; a state saved by others cannot be loaded strictly.",
        "Batch norm counts its calls for momentum=None. Does this layer have that option?",
        "as-a-module",
        (BUFFER_STD, BUFFER_STD + '\n        self.register_buffer("num_batches_tracked", torch.tensor(0))'),
    ),
    in_renorm(
        "limits-as-buffers",
        "interface",
        "r_max and d_max are buffers",
        "state_dict() has two keys too many.",
        "A schedule moves the limits by plain assignment. What do they have to be for that?",
        "as-a-module",
        ("self.r_max = r_max", 'self.register_buffer("r_max", torch.tensor(float(r_max)))'),
        ("self.d_max = d_max", 'self.register_buffer("d_max", torch.tensor(float(d_max)))'),
        ("clamp(1 / self.r_max, self.r_max)", "clamp((1 / self.r_max).item(), self.r_max.item())"),
        ("clamp(-self.d_max, self.d_max)", "clamp(-self.d_max.item(), self.d_max.item())"),
    ),
    in_renorm(
        "buffers-with-extra-axes",
        "interface",
        "The running values have the shape (1, C), not (C,)",
        "load_state_dict complains of a size mismatch.",
        "Print the shape of running_mean. Which of its axes are needed to store one number per channel?",
        "as-a-module",
        (BUFFER_MEAN, BUFFER_MEAN.replace("(num_features)", "(1, num_features)")),
        (BUFFER_STD, BUFFER_STD.replace("(num_features)", "(1, num_features)")),
        ("r = (sigma / self.running_std)", "r = (sigma / self.running_std[0])"),
        (
            "d = ((mean - self.running_mean) / self.running_std)",
            "d = ((mean - self.running_mean[0]) / self.running_std[0])",
        ),
    ),
    in_renorm(
        "argument-renamed",
        "interface",
        "A constructor argument has another name: rmax",
        "Building the layer with r_max=2.0 raises a TypeError.",
        "Callers use the names in the task. Compare your signature with it, word by word.",
        "as-a-module",
        ("r_max=3.0,", "rmax=3.0,"),
        ("self.r_max = r_max", "self.r_max = rmax"),
    ),
    in_renorm(
        "inherits-batch-norm",
        "interface",
        "The class derives from torch's nn.BatchNorm1d",
        "The numbers may be right, but the work is not yours; and the buffers are those of batch norm.",
        "Start from nn.Module, and register what the task names.",
        "as-a-module",
        source=PLAIN_RENORM.replace("class BatchRenorm1d(nn.Module):", "class BatchRenorm1d(nn.BatchNorm1d):").replace(
            "super().__init__()", "nn.Module.__init__(self)"
        ),
    ),
)
