"""What runs in the template's box: a warm process that forks kernels, and the fence that each fork puts around itself.

Standard library only, but for what is warmed up; the grader starts it (`autograder.sandbox.warm`) and never imports it.
"""
