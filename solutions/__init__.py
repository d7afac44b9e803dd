"""What the people who teach the course keep to themselves: references, labs, mistakes.

Nothing here is in the package that students install, nor on the website.
"""
