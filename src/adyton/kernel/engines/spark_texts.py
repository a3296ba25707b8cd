"""How doubles are written on Spark, from the texts that Java has for them."""

from __future__ import annotations

from typing import Any

from adyton.kernel.engines.functions import engine_function


def usual_text(number: Any) -> Any:
    """From Java's way of writing doubles to the usual one: 12345678.9 and 1e-05, not 1.23456789E7 and 1.0E-5."""
    import ibis

    text = number.cast("string").replace("4.9E-324", "5.0E-324")  # some versions of Java write one digit too many
    sign = ibis.ifelse(text.startswith("-"), "-", "")
    mantissa = text.re_replace("E.*$", "").re_replace("[.]0$", "").re_replace("^-", "")
    exponent = ibis.ifelse(text.contains("E"), text.re_replace("^.*E", ""), "0").try_cast("int64").fill_null(0)
    digits = mantissa.replace(".", "")
    point = exponent + 1  # of a mantissa that has one digit before the point
    padded = digits + "0" * 17
    large = padded.substr(0, point) + "." + digits.substr(point)
    small = "0." + ibis.literal("0000").substr(0, -point) + digits
    size = exponent.abs().cast("string")
    far = mantissa + ibis.ifelse(exponent < 0, "e-", "e+") + ibis.ifelse(size.length() < 2, "0" + size, size)
    written = ibis.cases(
        (~text.contains("E"), mantissa),
        (exponent.between(0, 15), large),
        (exponent.between(-4, -1), small),
        else_=far,
    )
    return sign + written


def bits_of(number: Any) -> Any:
    """From Java's exact way of writing doubles, 0x1.8p3 or, for the smallest, 0x0.8p-1022."""
    import ibis

    text = engine_function("`format_string`", ("string", "float64"), "string")("%a", number)
    fraction = text.re_extract("[.]([0-9a-f]+)p", 1).rpad(13, "0")
    power = text.re_extract("p(-?[0-9]+)$", 1).try_cast("int64").fill_null(0)
    first = ibis.ifelse(text.contains("x1."), power + 1023, 0) + ibis.ifelse(text.startswith("-"), 2048, 0)
    return (engine_function("hex", "int64", "string")(first) + fraction).re_replace("^0+", "").upper()
