"""What every test shares: one thread of linear algebra for each worker.

Workers fill the cores already. A second thread for matrices of this size waits more than it works, and the ten-fold
price is paid by everybody on the machine. Set before NumPy is loaded; whoever has set these variables is obeyed.
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(name, "1")
