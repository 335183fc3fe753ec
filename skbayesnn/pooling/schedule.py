"""In which order the fits of a stack are sent out: the longest first.

The order decides how long cores wait at the end, never what comes out: every fit has its own seed.
"""

from sklearn.utils.parallel import Parallel, delayed


def run_longest_first(tasks, costs, n_jobs):
    """Do several tasks, perhaps in other processes.

    With a long task at the end, one core works and the others wait. So the costly tasks begin
    first, and the cheap ones fill the gaps.

    Parameters
    ----------
    tasks : list of tuple
        A function and its arguments, each.
    costs : sequence of float
        Of each task, in any unit. Those that cost the same begin in the order of the list.
    n_jobs : int or None
        Number of cores.

    Returns
    -------
    results : list
        In the order of ``tasks``.

    Examples
    --------
    >>> run_longest_first([(divmod, 7, 2), (divmod, 9, 4)], [1.0, 5.0], None)
    [(3, 1), (2, 1)]
    """
    order = sorted(range(len(tasks)), key=lambda i: -costs[i])
    done = Parallel(n_jobs=n_jobs)(delayed(tasks[i][0])(*tasks[i][1:]) for i in order)
    return [result for _, result in sorted(zip(order, done, strict=True), key=lambda pair: pair[0])]
