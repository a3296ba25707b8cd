"""What is to be predicted, and from what: the label of a schema and the attributes beside it. All of this is public."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.errors import SchemaError
from adyton.messages import no_such, shorten
from adyton.schema import Schema
from adyton.schema.attributes import Boolean, Categorical, Identifier, Label


@dataclass(frozen=True)
class Target:
    """A label, and the attributes that predict it.

    >>> from adyton.schema import Integer
    >>> schema = Schema({"age": Integer(0, 119), "smoker": Boolean(), "ill": Categorical(["no", "yes"])})
    >>> target = Target.of(schema, "ill")
    >>> target.classes, target.schema.names
    (('no', 'yes'), ('age', 'smoker'))
    """

    schema: Schema
    """The attributes that predict, in order; without identifiers, which have no cells."""
    label: str
    """The name of the label."""
    attribute: Categorical | Boolean
    """What the label's values are."""

    @classmethod
    def of(cls, schema: Schema, label: object) -> Target:
        """The label of this name, predicted from all other attributes that have cells."""
        if not isinstance(label, str):
            raise SchemaError(f"label is the name of an attribute, given {shorten(label)}.")
        if label not in schema.attributes:
            raise SchemaError(no_such("attribute", label, schema.names))
        attribute = schema.attributes[label]
        if not isinstance(attribute, Categorical | Boolean):
            raise SchemaError(
                f"the label {label!r} is {attribute.kind}, and a classifier predicts classes. Declare it as "
                "Categorical with its levels, or as Boolean."
            )
        if attribute.size < 2:
            raise SchemaError(
                f"the label {label!r} has the single class {attribute.labels[0]!r}: there is nothing to predict. "
                "List every class among its levels."
            )
        names = [name for name, one in schema.attributes.items() if name != label and not isinstance(one, Identifier)]
        if not names:
            raise SchemaError(f"the schema has nothing to predict {label!r} from. Declare other attributes beside it.")
        return cls(schema.select(names), label, attribute)

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes in the order of the label's cells: its levels, then ``(other)`` and ``(null)`` if declared."""
        return self.attribute.labels

    @property
    def whole(self) -> Schema:
        """The attributes that predict, then the label."""
        attributes = {**self.schema.attributes, self.label: self.attribute}
        return self.schema.with_attributes(attributes)
