"""Lab 1, asked with asserts: torch's own layers are the answer."""

# %% set-up
import copy

import torch
from torch import nn


def close(given, wanted, tol=1e-6):
    assert isinstance(given, torch.Tensor), f"expected a tensor, got {type(given).__name__}"
    assert given.shape == wanted.shape, f"shape {tuple(given.shape)}, expected {tuple(wanted.shape)}"
    assert given.dtype == wanted.dtype, f"dtype {given.dtype}, expected {wanted.dtype}"
    assert torch.allclose(given, wanted, rtol=10 * tol, atol=tol), "the values differ"


def twins(ours, theirs, channels, dtype=torch.float64, **options):
    """Return both layers with the same parameters and the same running statistics."""
    given, wanted = ours(channels, **options).to(dtype), theirs(channels, **options).to(dtype)
    with torch.no_grad():
        for p in wanted.parameters():
            p.copy_(torch.rand(channels, dtype=dtype) + 0.5)
    given.load_state_dict(wanted.state_dict())
    return given, wanted


def same_state(given, wanted):
    for name, value in wanted.state_dict().items():
        close(given.state_dict()[name], value)


def refuses(call, *shape):
    try:
        call(torch.randn(*shape))
    except ValueError:
        return
    raise AssertionError(f"no ValueError for shape {shape}")


def check_interface(ours, theirs):
    for options in ({}, {"affine": False}, {"track_running_stats": False}):
        given, wanted = ours(3, **options), theirs(3, **options)
        assert list(given.state_dict()) == list(wanted.state_dict())
        assert [n for n, _ in given.named_parameters()] == [n for n, _ in wanted.named_parameters()]
        same_state(given, wanted)
        wanted.load_state_dict(given.state_dict())


def check_training(ours, theirs, *shapes):
    for eps in (1e-5, 0.5):
        given, wanted = twins(ours, theirs, shapes[0][1], eps=eps)
        for shape in shapes:
            x = 2 * torch.randn(*shape, dtype=torch.float64) + 3
            close(given(x), wanted(x))


def check_running(ours, theirs, *shapes):
    for momentum in (0.1, 0.7):
        given, wanted = twins(ours, theirs, shapes[0][1], momentum=momentum)
        for shape in shapes * 2:
            x = 2 * torch.randn(*shape, dtype=torch.float64) + 3
            given(x), wanted(x)
            same_state(given, wanted)
        assert not given.running_mean.requires_grad
        given(x.requires_grad_()).sum().backward()


def check_evaluation(ours, theirs, *shapes):
    given, wanted = twins(ours, theirs, shapes[0][1], eps=0.3)
    for shape in shapes:
        x = 2 * torch.randn(*shape, dtype=torch.float64) + 3
        given.train()(x), wanted.train()(x)
        before = copy.deepcopy(given.state_dict())
        given.eval(), wanted.eval()
        close(given(x), wanted(x))
        close(given(x[:1]), wanted(x[:1]))
        for name, value in before.items():
            assert torch.equal(given.state_dict()[name], value), f"{name} was changed in evaluation mode"


def check_options(ours, theirs, *shapes):
    for options in ({"affine": False}, {"track_running_stats": False}, {"momentum": None}):
        given, wanted = twins(ours, theirs, shapes[0][1], **options)
        for shape in shapes:
            x = 2 * torch.randn(*shape, dtype=torch.float64) + 3
            close(given.train()(x), wanted.train()(x))
            same_state(given, wanted)
            close(given.eval()(x), wanted.eval()(x))


def check_gradients(ours, theirs, *shapes):
    given, wanted = twins(ours, theirs, shapes[0][1], eps=0.1)
    for training in (True, False):
        given.train(training), wanted.train(training)
        for shape in shapes:
            a = (2 * torch.randn(*shape, dtype=torch.float64) + 3).requires_grad_()
            b = a.detach().clone().requires_grad_()
            upstream = torch.randn(*shape, dtype=torch.float64)
            given.zero_grad(), wanted.zero_grad()
            given(a).backward(upstream), wanted(b).backward(upstream)
            close(a.grad, b.grad)
            for p, q in zip(given.parameters(), wanted.parameters()):
                close(p.grad, q.grad)


def check_numerics(ours, theirs, *shapes):
    given, wanted = twins(ours, theirs, shapes[0][1], dtype=torch.float32)
    for shape in shapes:
        x = torch.randn(*shape) + 100
        kept = x.clone()
        close(given(x), wanted(x), tol=1e-3)
        assert torch.equal(x, kept), "x was changed"
        strided = torch.randn(*[2 * n for n in shape])[tuple(slice(None, None, 2) for _ in shape)]
        close(given(strided), wanted(strided), tol=1e-4)


def answer_of_autograd(grad_out, x, weight, eps):
    x, weight = x.detach().clone().requires_grad_(), weight.detach().clone().requires_grad_()
    bias = torch.zeros_like(weight).requires_grad_()
    nn.functional.batch_norm(x, None, None, weight, bias, training=True, eps=eps).backward(grad_out)
    return x.grad, weight.grad, bias.grad


def backward_input(n, c, dtype=torch.float64):
    return torch.randn(n, c, dtype=dtype), 2 * torch.randn(n, c, dtype=dtype) + 1, torch.randn(c, dtype=dtype)


def check_backward_step(backward_steps, key):
    for n, c, eps in ((3, 2, 0.5), (5, 3, 1e-5)):
        grad_out, x, weight = backward_input(n, c)
        mean, var = x.mean(0), x.var(0, unbiased=False)
        x_hat = (x - mean) / (var + eps).sqrt()
        grad_x_hat = grad_out * weight
        wanted = {
            "mean": mean,
            "var": var,
            "x_hat": x_hat,
            "grad_x_hat": grad_x_hat,
            "grad_var": (grad_x_hat * (x - mean)).sum(0) * -0.5 * (var + eps) ** -1.5,
            "grad_mean": -grad_x_hat.sum(0) / (var + eps).sqrt(),
            "grad_x": answer_of_autograd(grad_out, x, weight, eps)[0],
        }
        close(backward_steps(grad_out, x, weight, eps)[key], wanted[key])


# %% predict-output
assert abs(predicted_output - -3 / 5**0.5) < 0.01

# %% predict-running-mean
assert abs(predicted_running_mean - 0.4) < 0.01

# %% predict-running-var
assert abs(predicted_running_var - (0.9 + 0.1 * 20 / 3)) < 0.01

# %% step-statistics
for shape in ((3, 2), (6, 4), (5, 1)):
    x = 2 * torch.randn(*shape, dtype=torch.float64) + 3
    mean, var = batch_statistics(x)
    close(mean, x.mean(0))
    close(var, x.var(0, unbiased=False))

# %% step-normalize
for eps in (0.5, 1e-5):
    x, mean, var = torch.randn(4, 3, dtype=torch.float64), torch.randn(3).double(), torch.rand(3).double() + 0.1
    close(normalize(x, mean, var, eps), (x - mean) / (var + eps).sqrt())

# %% step-running
for n, momentum in ((2, 0.1), (5, 1.0), (7, 0.0)):
    old_mean, old_var, mean, var = (torch.rand(3, dtype=torch.float64) + 0.5 for _ in range(4))
    new_mean, new_var = updated_running(old_mean, old_var, mean, var, n, momentum)
    close(new_mean, (1 - momentum) * old_mean + momentum * mean)
    close(new_var, (1 - momentum) * old_var + momentum * var * n / (n - 1))

# %% bn1d-interface
check_interface(BatchNorm1d, nn.BatchNorm1d)

# %% bn1d-training
check_training(BatchNorm1d, nn.BatchNorm1d, (4, 3), (7, 3))

# %% bn1d-running
check_running(BatchNorm1d, nn.BatchNorm1d, (4, 3), (7, 3))

# %% bn1d-evaluation
check_evaluation(BatchNorm1d, nn.BatchNorm1d, (4, 3), (7, 3))

# %% bn1d-ncl
check_training(BatchNorm1d, nn.BatchNorm1d, (4, 3, 5), (2, 3, 3))
check_running(BatchNorm1d, nn.BatchNorm1d, (4, 3, 5))
check_gradients(BatchNorm1d, nn.BatchNorm1d, (4, 3, 5))

# %% bn1d-options
check_options(BatchNorm1d, nn.BatchNorm1d, (4, 3), (7, 3))

# %% bn1d-errors
layer = BatchNorm1d(3)
for shape in ((1, 3), (3,), (2, 3, 4, 5), (4, 2), (4, 1)):
    refuses(layer, *shape)
layer(torch.randn(1, 3, 2))

# %% bn1d-gradients
check_gradients(BatchNorm1d, nn.BatchNorm1d, (4, 3), (7, 3))

# %% bn1d-numerics
check_numerics(BatchNorm1d, nn.BatchNorm1d, (8, 3), (16, 3))

# %% bn2d-interface
check_interface(BatchNorm2d, nn.BatchNorm2d)

# %% bn2d-training
check_training(BatchNorm2d, nn.BatchNorm2d, (4, 3, 2, 5), (2, 3, 3, 3))

# %% bn2d-running
check_running(BatchNorm2d, nn.BatchNorm2d, (4, 3, 2, 5), (2, 3, 3, 3))

# %% bn2d-evaluation
check_evaluation(BatchNorm2d, nn.BatchNorm2d, (4, 3, 2, 5), (2, 3, 3, 3))

# %% bn2d-options
check_options(BatchNorm2d, nn.BatchNorm2d, (4, 3, 2, 5), (2, 3, 3, 3))

# %% bn2d-errors
layer = BatchNorm2d(3)
for shape in ((1, 3, 1, 1), (2, 3), (2, 3, 4), (2, 2, 4, 4), (2, 1, 4, 4)):
    refuses(layer, *shape)
layer(torch.randn(1, 3, 2, 1))

# %% bn2d-gradients
check_gradients(BatchNorm2d, nn.BatchNorm2d, (4, 3, 2, 5), (2, 3, 3, 3))

# %% bn2d-numerics
check_numerics(BatchNorm2d, nn.BatchNorm2d, (4, 3, 2, 5), (2, 3, 3, 3))

# %% backward-mean
check_backward_step(backward_steps, "mean")

# %% backward-var
check_backward_step(backward_steps, "var")

# %% backward-x-hat
check_backward_step(backward_steps, "x_hat")

# %% backward-grad-x-hat
check_backward_step(backward_steps, "grad_x_hat")

# %% backward-grad-var
check_backward_step(backward_steps, "grad_var")

# %% backward-grad-mean
check_backward_step(backward_steps, "grad_mean")

# %% backward-grad-x
check_backward_step(backward_steps, "grad_x")

# %% bnb-input
for n, c, eps in ((3, 2, 0.1), (5, 1, 0.2), (7, 3, 1e-5)):
    grad_out, x, weight = backward_input(n, c)
    close(batch_norm_backward(grad_out, x, weight, eps)[0], answer_of_autograd(grad_out, x, weight, eps)[0])

# %% bnb-parameters
for n, c, eps in ((3, 2, 0.1), (5, 1, 0.2), (7, 3, 1e-5)):
    grad_out, x, weight = backward_input(n, c)
    given, wanted = batch_norm_backward(grad_out, x, weight, eps), answer_of_autograd(grad_out, x, weight, eps)
    close(given[1], wanted[1])
    close(given[2], wanted[2])

# %% bnb-numerics
for dtype, tol in ((torch.float64, 1e-6), (torch.float32, 1e-4)):
    grad_out, x, weight = backward_input(6, 3, dtype)
    kept = [grad_out.clone(), x.clone(), weight.clone()]
    given = batch_norm_backward(grad_out=grad_out, x=x, weight=weight)
    for a, b in zip(given, answer_of_autograd(grad_out, x, weight, 1e-5)):
        close(a, b, tol)
    for a, b in zip((grad_out, x, weight), kept):
        assert torch.equal(a, b), "an argument was changed"
    columns = x.t().contiguous().t()
    close(batch_norm_backward(grad_out, columns, weight, 0.2)[0], answer_of_autograd(grad_out, x, weight, 0.2)[0], tol)
