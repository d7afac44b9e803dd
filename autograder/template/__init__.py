"""What runs in a box beside student code: the template that forks kernels, the fence around each fork, and a notebook's kernel.

The standard library, Jupyter's own parts, and what is warmed up; the grader starts it (`autograder.sandbox.warm`,
`autograder.kernel.launch`) and never imports it.
"""
