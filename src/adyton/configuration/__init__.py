"""Private algorithm configuration: tune a parameter of an algorithm on private instances.

Start with ``configure``; a ``family`` is the algorithm to tune. Names are looked up when first used: ``__init__.pyi``
says where they are.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
