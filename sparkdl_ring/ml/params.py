"""The Params of estimators and models: one class attribute each, with its type, default and doc."""

from __future__ import annotations

import difflib
import re
from typing import Any, TypeVar

from pyspark.ml.param import Param, Params

from sparkdl_ring.errors import ConfigError
from sparkdl_ring.ml import converters as to

P = TypeVar("P", bound="DeclaredParams")

_ALIASES = {"feature_col": "feature_cols", "label_col": "label_cols", "prediction_col": "prediction_cols"}


class DeclaredParam(Param):  # type: ignore[misc]
    """A Param that takes its name from the class attribute it is assigned to and knows its default."""

    def __init__(self, doc: str, converter: to.Converter, default: Any = None) -> None:
        super().__init__(Params._dummy(), "", doc, converter)
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


class DeclaredParams(Params):  # type: ignore[misc]
    """Params with declared defaults, keyword setting, and MLlib's getters and setters (``getBatchSize``)."""

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(**{param.name: param.default for param in self.params})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, param in vars(cls).copy().items():
            if isinstance(param, DeclaredParam):
                _add_accessors(cls, name)

    def setParams(self: P, **values: Any) -> P:  # noqa: N802 - MLlib's name
        """Sets Params by keyword, in snake_case or MLlib's camelCase; ``None`` leaves the default.

        Raises:
            ConfigError: A name is unknown, or a value has the wrong type or is out of range.
        """
        for keyword, value in values.items():
            if value is not None:
                self._set(**{self._name_of(keyword): value})
        return self

    def _set(self: P, **values: Any) -> P:
        try:
            super()._set(**values)
        except TypeError as error:  # a ConfigError is a ValueError, which fit(df, {...}) callers expect
            raise ConfigError(str(error)) from error
        return self

    def _name_of(self, keyword: str) -> str:
        snake = re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match.group(1).lower(), keyword)
        name = _ALIASES.get(snake, snake)
        known = [param.name for param in self.params]
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known ones: {', '.join(known)}"
            raise ConfigError(f"{type(self).__name__} has no parameter {keyword!r}; {hint}")
        return name


def _add_accessors(cls: type[Any], name: str) -> None:
    camel = "".join(word.capitalize() for word in name.split("_"))

    def get(self: DeclaredParams) -> Any:
        return self.getOrDefault(name)

    def set_(self: P, value: Any) -> P:
        return self._set(**{name: value})

    get.__doc__ = f"The value of ``{name}``."
    set_.__doc__ = f"Sets ``{name}``."
    setattr(cls, f"get{camel}", get)
    setattr(cls, f"set{camel}", set_)


class ModelParams(DeclaredParams):
    """What estimator and model share."""

    feature_cols = DeclaredParam(
        "Columns given to the model, in this order, one positional argument each.", to.to_names
    )
    prediction_cols = DeclaredParam(
        "Columns that transform adds, one for each output of the model; default 'prediction', or "
        "'prediction_<label>' where there are several labels.",
        to.to_names,
    )
    inference_batch_size = DeclaredParam("Rows in one forward pass of transform.", to.to_count, 1024)
    store = DeclaredParam(
        "URL of a folder that driver and executors reach, for rows, checkpoints and models; default a "
        "temporary one, on local masters only.",
        to.to_text,
    )


class FitParams(ModelParams):
    """What a fit needs besides model, loss and optimizer, whatever the framework."""

    label_cols = DeclaredParam("Columns given to the loss.", to.to_names)
    loss_weights = DeclaredParam("Weight of the loss of each label column; default equal.", to.to_floats)
    validation = DeclaredParam(
        "Share of the rows held out (0 to 1), or the column that is true on validation rows; default none.",
        to.to_validation,
    )
    batch_size = DeclaredParam("Rows per task and step.", to.to_count, 32)
    epochs = DeclaredParam("Passes over the training rows.", to.to_count, 1)
    num_workers = DeclaredParam("Training tasks, one per slot or GPU.", to.to_count, 1)
    learning_rate = DeclaredParam(
        "Given to the optimizer factory as lr= where set; never scaled by the number of tasks.", to.to_rate
    )
    seed = DeclaredParam("Decides row order and random draws; default drawn anew by each fit.", to.to_int)
    shuffle = DeclaredParam("Whether rows are shuffled each epoch.", to.to_bool, True)
    launcher = DeclaredParam(
        "Where tasks run: spark (barrier tasks) or local (processes on this host).",
        to.one_of("spark", "local"),
        "spark",
    )
    tracking = DeclaredParam(
        "Where the run is recorded: mlflow or none.", to.one_of("mlflow", "none"), "mlflow"
    )
    experiment = DeclaredParam("MLflow experiment; default MLflow's own.", to.to_text)
    run_name = DeclaredParam(
        "Name of the run in the record, and with store of what resume finds.", to.to_text
    )
    resume = DeclaredParam(
        "Go on after the last checkpoint of an unfinished fit with the same store, run_name, seed, rows and "
        "settings; a fit without seed never finds one.",
        to.to_bool,
        True,
    )
    settings = DeclaredParam(
        "Overrides of settings for this fit, such as {'comm.timeout_s': 60}; see the settings table.",
        to.to_settings,
        {},
    )
