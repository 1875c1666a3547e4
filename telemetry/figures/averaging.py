"""How much a stretch of time weighs in a reading of a sensor that averages."""

from __future__ import annotations

import numpy as np

from telemetry.model import Float64Array


def triangle_weights(t: Float64Array, width: float, starts: Float64Array, ends: Float64Array) -> Float64Array:
    """Integral over the sorted, disjoint spans [starts, ends] of the triangle of area 1 over [t - 2 width, t].

    A register holds an average over `width` that is itself up to `width` old: over many reads of unknown age this is
    the weight of an instant (measurement_rules.md, The power sensor). All in the same unit; shape as `t`.
    """
    near, middle, far = (_twice_integrated(t - shift * width, starts, ends) for shift in (0, 1, 2))
    found: Float64Array = (near - 2 * middle + far) / width**2
    return found


def _twice_integrated(t: Float64Array, starts: Float64Array, ends: Float64Array) -> Float64Array:
    """Second integral from the beginning to each t of the function that is 1 in the sorted spans and 0 elsewhere."""
    lengths = ends - starts
    before = np.concatenate([[0.0], np.cumsum(lengths)])
    moments = np.concatenate([[0.0], np.cumsum(lengths * (starts + ends) / 2)])
    index = np.searchsorted(starts, t, side="right")
    # Spans begun by t, as if all had ended; then the part of the last one that is still to come is taken off.
    whole = t * before[index] - moments[index]
    last_end = np.concatenate([[-np.inf], ends])[index]
    ahead = np.maximum(last_end - t, 0.0)
    found: Float64Array = whole + ahead**2 / 2
    return found
