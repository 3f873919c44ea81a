"""Runs of the rivals that know what they do not know: trained, resumed, read back, refused."""

import json

import pytest
import torch
from tiny_runs import run, tiny, weights

from softaug.lab.evaluation.load_run import load_run
from softaug.lab.recipes import LossSpec, Mix, Uncertainty
from softaug.lab.recipes.config import Compute
from softaug.metrics import negative_energy
from softaug.uncertainty import DensityHead, RandomFeatureGP

HARD = LossSpec()
OUTSIDE = Uncertainty(
    "energy", outliers="fashion-mini", outlier_share=1.0, outlier_weight=1.0, margins=(-4.0, -1.0)
)
SPECS = {
    "energy": OUTSIDE,
    "duq": Uncertainty("duq", momentum=0.9, gradient_penalty=0.1),
    "sngp": Uncertainty("sngp", num_features=64),
    "ddu": Uncertainty("ddu"),
}


@pytest.mark.parametrize("method", SPECS)
def test_a_run_is_the_same_every_time_and_its_network_is_read_back_as_it_was(method, tmp_path):
    recipe = tiny(loss=LossSpec(soften="target"), uncertainty=SPECS[method])
    result, _ = run(recipe, tmp_path / "a")
    again, _ = run(recipe, tmp_path / "b")
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    net = load_run(tmp_path / "a", None, "cpu")
    logits = net.predict(net.data.measured.fetch(torch.arange(30)))
    wrong = logits.argmax(1) != net.data.measured.labels
    assert float(wrong.double().mean()) == pytest.approx(result["error"]) == again["error"]


@pytest.mark.parametrize(("method", "kind"), [("sngp", RandomFeatureGP), ("ddu", DensityHead)])
def test_what_is_fitted_after_training_is_in_the_checkpoint(method, kind, tmp_path):
    run(tiny(loss=HARD, uncertainty=SPECS[method]), tmp_path)
    net = load_run(tmp_path, None, "cpu").net
    (head,) = [part for part in net.modules() if isinstance(part, kind)]
    fitted = head.covariance if method == "sngp" else head.means
    assert float(fitted.abs().max()) > 0


def test_margins_push_the_energies_of_other_images_up(tmp_path):
    from softaug.lab.training.uncertainty import Outliers

    others = Outliers("fashion-mini", 16, None, torch.device("cpu")).draw(100, seed=0)
    found = {}
    for name, spec in (("plain", Uncertainty()), ("margins", OUTSIDE)):
        run(tiny(loss=HARD, epochs=20, uncertainty=spec), tmp_path / name)
        trained = load_run(tmp_path / name, None, "cpu")
        known = trained.predict(trained.data.train.fetch(torch.arange(50)))
        apart = negative_energy(known).mean() - negative_energy(trained.predict(others)).mean()
        found[name] = float(apart)
    assert found["margins"] > found["plain"] + 0.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"uncertainty": Uncertainty("duq")}, "loss of its own.* got loss.soften"),
        (
            {"loss": HARD, "compute": Compute("bfloat16"), "uncertainty": Uncertainty("duq")},
            "float32",
        ),
        ({"mix": Mix("manifold-mixup"), "uncertainty": OUTSIDE}, "not mixed within the network"),
        (
            {"uncertainty": Uncertainty("energy", outliers="digits")},
            "outliers must be other images",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(changes, message):
    with pytest.raises(ValueError, match=f"^uncertainty: .*{message}"):
        tiny(**changes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "energy"}, "energy needs outliers, got none"),
        ({"method": "ddu", "num_features": 5}, "num_features is for sngp, got 5 with ddu"),
        ({"method": "energy", "outliers": "digits", "margins": (-5.0, -23.0)}, "lower, higher"),
    ],
)
def test_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=f"^uncertainty: .*{message}"):
        Uncertainty(**settings)


def test_a_recipe_from_before_has_no_method():
    from softaug.lab.recipes import as_dict, from_dict

    old = json.loads(json.dumps(as_dict(tiny())))
    del old["uncertainty"]
    assert from_dict(old) == tiny()
