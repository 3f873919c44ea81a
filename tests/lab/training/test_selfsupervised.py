"""Learning from pairs of views: what a batch holds, what a step does, what a run leaves."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from one_step import random_data, step_once, take_step, trainer_of
from photos import write_photos
from PIL import Image
from tiny_runs import BARLOW, rows, run, tiny_pairs, weights

from softaug import DrawKey, pair_weight
from softaug.lab.models.ssl import SimSiam, barlow_twins_loss, feature_std, simsiam_loss
from softaug.lab.recipes import PretrainRecipe, SimSiamSpec, entries
from softaug.lab.schema import Result, read
from softaug.lab.training import ssl as selfsupervised
from softaug.lab.training.distributed import DistContext
from softaug.lab.training.setup import load_data
from softaug.lab.training.ssl import PairBatches, SelfSupervised, build_pair_net

CPU = torch.device("cpu")


def batches(recipe, source, rank=0, count=1):
    return PairBatches(recipe, source, DistContext(rank, count, CPU))


def test_a_batch_is_what_two_views_make_of_its_samples():
    recipe, data = tiny_pairs(seed=3), random_data(num=24, edge=16)
    found = batches(recipe, data.train)
    for step in (0, 3):
        batch = found[step]
        key = DrawKey(3, step // 2, batch.sample)
        expected = found.views(data.train.images[batch.sample], key=key)
        for part, wanted in zip(batch.views, expected, strict=True):
            assert torch.equal(part, wanted)
    assert found[0].num_global == 20
    assert found[1].num_global == 4


def test_views_of_files_are_those_of_the_whole_images(tmp_path):
    files = write_photos(tmp_path)
    recipe = tiny_pairs(data_name=f"folder:{tmp_path}", data_per_class=None, data_validation=0)
    recipe = replace(recipe, data=replace(recipe.data, size=32), batch=4)
    found = batches(recipe, load_data(recipe, None).train)
    batch = found[0]
    for place, sample in enumerate(batch.sample.tolist()):
        image = torch.from_numpy(np.array(Image.open(files[sample]))).permute(2, 0, 1)
        key = DrawKey(recipe.seed, 0, torch.tensor([sample]))
        expected = found.views(image[None], key=key)
        assert torch.equal(batch.views.boxes_first[place], expected.boxes_first[0])
        assert torch.equal(batch.views.boxes_second[place], expected.boxes_second[0])
        for part, wanted in zip(batch.views[:2], expected[:2], strict=True):
            assert (part[place].float() - wanted[0].float()).abs().mean() < 1


def test_processes_share_out_the_pairs_of_one():
    recipe, data = tiny_pairs(), random_data(num=24, edge=16)
    whole = batches(recipe, data.train)[0]
    shares = [batches(recipe, data.train, rank, 2)[0] for rank in (0, 1)]
    for place, part in enumerate(whole.views):
        assert torch.equal(torch.cat([share.views[place] for share in shares]), part)
    assert {share.num_global for share in shares} == {20}


def test_a_step_of_one_pair_is_refused():
    recipe, data = tiny_pairs(batch=23), random_data(num=24, edge=16)
    with pytest.raises(ValueError, match="must get 2 images in every step, got a step of 1"):
        batches(recipe, data.train)


def slow_losses(net, views, recipe):
    """The loss of each pair, one after the other, from the network's output."""
    output = net(views.first, views.second)
    boxes = views.boxes_first, views.boxes_second
    weights = pair_weight(*boxes, recipe.weight.k, recipe.weight.mode)
    parts = [simsiam_loss(*(part[i : i + 1] for part in output)) for i in range(len(weights))]
    return torch.cat(parts) * weights, output


@pytest.mark.parametrize("mode", ["none", "SA1", "SA2"])
def test_a_step_goes_down_the_mean_of_the_weighted_losses(mode):
    recipe = tiny_pairs(weight_mode=mode, optim_momentum=0.0, optim_weight_decay=0.0)
    data = random_data(num=20, edge=16)
    trainer, batch = trainer_of(recipe, data), batches(recipe, data.train)[0]
    net = build_pair_net(recipe, data).to(memory_format=torch.channels_last)
    losses, output = slow_losses(net, batch.views, recipe)
    losses.mean().backward()
    found = step_once(trainer)
    torch.testing.assert_close(found[:, 0], losses.detach())
    spread = (feature_std(output.z1) + feature_std(output.z2)) / 2
    torch.testing.assert_close(found[:, 1], spread.expand(20))
    for before, after in zip(net.parameters(), trainer.net.parameters(), strict=True):
        torch.testing.assert_close(after, before - 0.05 * before.grad, rtol=1e-4, atol=1e-6)


def test_barlow_twins_goes_down_the_loss_of_the_batch():
    recipe = tiny_pairs(method=BARLOW, optim_momentum=0.0, optim_weight_decay=0.0, optim_lr=0.001)
    data = random_data(num=20, edge=16)
    trainer, batch = trainer_of(recipe, data), batches(recipe, data.train)[0]
    net = build_pair_net(recipe, data).to(memory_format=torch.channels_last)
    views = batch.views
    worth = pair_weight(views.boxes_first, views.boxes_second)
    loss = barlow_twins_loss(*net(views.first, views.second), worth)
    loss.backward()
    found = step_once(trainer)
    torch.testing.assert_close(found[:, 0], loss.detach().expand(20))
    for before, after in zip(net.parameters(), trainer.net.parameters(), strict=True):
        torch.testing.assert_close(after, before - 0.001 * before.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("fixed", [True, False])
def test_the_predictor_s_learning_rate_is_fixed_if_the_recipe_says_so(fixed):
    recipe, data = tiny_pairs(method_fixed_predictor_lr=fixed), random_data(num=20, edge=16)
    trainer = trainer_of(replace(recipe, epochs=4), data)
    trainer.step = 3
    step_once(trainer)
    names = {part: name for name, part in trainer.net.named_parameters()}
    rates = [
        (names[part], one["lr"]) for one in trainer.optimizer.param_groups for part in one["params"]
    ]
    decayed = 0.05 * (1 - 0.5**0.5) / 2  # the last of four steps of a cosine
    assert len(rates) == len(names)
    for name, lr in rates:
        kept = fixed and name.startswith("predictor.")
        assert lr == pytest.approx(0.05 if kept else decayed)


def test_the_weights_depend_on_the_seed_alone():
    data = random_data(num=20, edge=16)
    nets = [build_pair_net(tiny_pairs(seed=seed), data).state_dict() for seed in (0, 0, 1)]
    assert all(torch.equal(nets[0][name], nets[1][name]) for name in nets[0])
    assert any(not torch.equal(nets[0][name], nets[2][name]) for name in nets[0])


def ways():
    """A recipe for each method and weighting of the catalogue."""
    recipes = [e.recipe for e in entries() if isinstance(e.recipe, PretrainRecipe)]
    return list({(r.method.word, r.weight): r for r in recipes}.values())


@pytest.mark.parametrize("recipe", ways(), ids=lambda recipe: recipe.name)
def test_a_recipe_without_labels_trains_for_a_step(recipe):
    found, moved = take_step(replace(recipe, method=replace(recipe.method, hidden=32)))
    assert found.isfinite().all()
    assert moved.isfinite().all()
    assert float(moved.abs().max()) > 0


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """The folder, result and words of a tiny run that was never stopped."""
    folder = tmp_path_factory.mktemp("pairs") / "run"
    return folder, *run(tiny_pairs(), folder)


def test_a_run_leaves_the_error_of_neighbours_and_the_spread_of_features(unbroken):
    folder, result, said = unbroken
    last = rows(folder)[-1]
    assert last["validation_knn_error"] == result["knn_error"]
    assert 0 <= result["knn_error"] <= 1
    assert last["train_feature_std"] == result["train_feature_std"] > 0.5
    assert f"feature std {result['train_feature_std']:.2f}" in said.splitlines()[-1]
    assert all("warning" not in row for row in rows(folder))


def test_neighbours_are_among_the_training_images_as_they_are():
    job = SelfSupervised(tiny_pairs(), load_data(tiny_pairs(), None))
    net = job.net.backbone.eval()
    with torch.no_grad():
        known, asked = (net(part.images).double() for part in (job.data.train, job.data.measured))
    near = torch.cosine_similarity(asked[:, None], known, dim=2)  # [30, 50], and all 50 vote
    worth, labels = (near / 0.1).exp(), job.data.train.labels
    votes = torch.stack([worth[:, labels == digit].sum(1) for digit in range(10)])
    wrong = (votes.argmax(0) != job.data.measured.labels).double().mean()
    assert job.evaluate(job.net) == {"knn_error": pytest.approx(float(wrong))}


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a small machine
@pytest.mark.parametrize("options", [{"workers": 2}, {"evaluate_epochs": 1}], ids=str)
def test_options_do_not_change_what_is_learned(unbroken, tmp_path, options):
    run(tiny_pairs(), tmp_path, **options)
    assert weights(tmp_path) == weights(unbroken[0])
    assert rows(tmp_path)[-1] == rows(unbroken[0])[-1]


def test_another_weight_of_pairs_learns_something_else(unbroken, tmp_path):
    run(tiny_pairs(weight_mode="SA2"), tmp_path)
    assert weights(tmp_path) != weights(unbroken[0])


def test_a_collapse_is_told_of_in_every_epoch(tmp_path, monkeypatch):
    monkeypatch.setattr(selfsupervised, "COLLAPSED", 2.0)
    _, said = run(tiny_pairs(), tmp_path)
    assert [line.split(":")[0] for line in said.splitlines() if "collapses" in line] == [
        "epoch 1",
        "epoch 2",
    ]
    assert all("feature std" in row["warning"] for row in rows(tmp_path))


def without_stop_gradient(patch):
    """Let the gradient into the projections, which SimSiam must not."""

    def forward(net, first, second):
        z1, z2 = (net.projector(net.backbone(view)) for view in (first, second))
        return net.predictor(z1), net.predictor(z2), z1, z2

    def loss(p1, p2, z1, z2):
        return -(torch.cosine_similarity(p1, z2) + torch.cosine_similarity(p2, z1)) / 2

    patch.setattr(SimSiam, "forward", forward)
    patch.setattr(selfsupervised, "simsiam_loss", loss)


@pytest.mark.parametrize("collapses", [True, False])
def test_a_real_collapse_is_below_the_threshold_and_learning_is_not(monkeypatch, collapses):
    if collapses:
        without_stop_gradient(monkeypatch)
    wide = SimSiamSpec(hidden=256, bottleneck=64, num_layers=2)
    recipe = tiny_pairs(model="resnet8-s2", method=wide, optim_lr=1.0, batch=50, epochs=10)
    data = random_data(num=200, edge=8)
    trainer = trainer_of(replace(recipe, epochs=25), data)
    found = [step_once(trainer)[0, 1].item() for _ in range(40)]
    assert (sum(found[-8:]) / 8 < selfsupervised.COLLAPSED) is collapses


def test_a_network_that_answers_alike_for_all_images_is_below_the_threshold():
    spread = feature_std(torch.ones(64, 16) + 0.05 * torch.randn(64, 16))
    assert float(spread) < selfsupervised.COLLAPSED
    assert float(feature_std(torch.randn(64, 16))) > 1.5 * selfsupervised.COLLAPSED


def test_the_result_holds_the_recipe_and_it_comes_back(unbroken):
    folder, result, _ = unbroken
    assert json.loads((folder / "recipe.json").read_text()) == result["recipe"]
    again, said = run(tiny_pairs(), folder)
    assert "is finished" in said
    assert again == read(folder / "result.json", Result).model_dump(exclude_unset=True)
