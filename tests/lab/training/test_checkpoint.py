import errno
import hashlib
import json
import os
import random

import pytest
import torch

from softaug.lab.training import checkpoint
from softaug.lab.training.checkpoint import DamagedError, load, newest, save, steps

FILES = ["model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"]


def state_of(step):
    """A state dict as a trainer has it: tensors and plain values, nested."""
    generator = torch.Generator().manual_seed(step)
    model = {"net.weight": torch.randn(3, 4, generator=generator), "seen": torch.tensor(step)}
    moments = {0: {"momentum": torch.full((3, 4), float(step)), "step": 2.5}}
    optimizer = {"state": moments, "param_groups": [{"lr": 0.1, "params": [0]}]}
    return {"step": step, "model": model, "optimizer": optimizer}


def save_some(folder, *numbers):
    return [save(folder, step, state_of(step)) for step in numbers]


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def refuse_to_write(monkeypatch, name, number):
    write = checkpoint._write

    def full(path, content):
        if path.name == name:
            path.write_bytes(content[: len(content) // 2])
            raise OSError(number, "as the system says")
        write(path, content)

    monkeypatch.setattr(checkpoint, "_write", full)


def test_what_was_saved_is_loaded_with_keys_as_text(tmp_path):
    save_some(tmp_path, 7)
    found, expected = newest(tmp_path), state_of(7)
    assert (found.path.name, found.state["step"]) == ("step-00000007", 7)
    for name, tensor in expected["model"].items():
        assert torch.equal(found.state["model"][name], tensor)
    moments = found.state["optimizer"]["state"]["0"]
    assert torch.equal(moments["momentum"], expected["optimizer"]["state"][0]["momentum"])
    assert moments["step"] == 2.5
    assert found.state["optimizer"]["param_groups"] == expected["optimizer"]["param_groups"]


def test_a_channels_last_tensor_is_loaded_with_its_values(tmp_path):
    weight = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    save(tmp_path, 1, {"model": {"weight": weight}})
    assert torch.equal(newest(tmp_path).state["model"]["weight"], weight)


def test_there_are_only_tensors_and_json(tmp_path):
    (path,) = save_some(tmp_path, 1)
    assert sorted(file.name for file in path.iterdir()) == sorted(FILES)
    for name in FILES[2:]:
        json.loads((path / name).read_text())
    header = (path / FILES[0]).read_bytes()
    json.loads(header[8 : 8 + int.from_bytes(header[:8], "little")])  # safetensors, no pickle


def test_equal_states_give_equal_files(tmp_path):
    (first,), (second,) = save_some(tmp_path / "a", 1), save_some(tmp_path / "b", 1)
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in FILES)


def test_the_last_two_stay(tmp_path):
    save_some(tmp_path, 1, 2, 10, 9_999_999)
    assert [path.name for path in steps(tmp_path)] == ["step-00000010", "step-09999999"]


def test_no_checkpoint_is_none(tmp_path):
    assert newest(tmp_path / "absent") is None


HARMS = ["flip first", "flip middle", "flip last", "truncate", "delete"]
PAIRS = [*zip(FILES * 2, HARMS, strict=False), *((name, "delete") for name in FILES)]


@pytest.mark.parametrize(("name", "harm"), PAIRS)
def test_a_damaged_one_is_reported_and_the_one_before_is_used(tmp_path, name, harm):
    path, said = save_some(tmp_path, 1, 2)[1] / name, []
    size = path.stat().st_size
    if harm.startswith("flip"):
        flip(path, {"first": 0, "middle": size // 2, "last": size - 1}[harm.split()[1]])
    elif harm == "truncate":
        path.write_bytes(path.read_bytes()[: size // 2])
    else:
        path.unlink()
    assert newest(tmp_path, said.append).state["step"] == 1
    assert len(said) == 1
    assert said[0].startswith("checkpoint step-00000002 is damaged (")
    assert name in said[0] or name == "manifest.json"
    assert (tmp_path / "damaged-step-00000002").is_dir()


def test_any_flipped_bit_of_the_manifest_is_noticed(tmp_path):
    path = save_some(tmp_path, 1)[0]
    manifest = path / "manifest.json"
    whole, draw = manifest.read_bytes(), random.Random(0)
    for place in range(len(whole) - 1):  # the last is a line's end
        changed = bytearray(whole)
        changed[place] ^= 1 << draw.randrange(8)
        manifest.write_bytes(changed)
        with pytest.raises(DamagedError):
            load(path)


def test_all_damaged_stays_refused_however_often_one_tries(tmp_path):
    for path in save_some(tmp_path, 1, 2):
        flip(path / "state.json", 3)
    for _ in range(2):
        with pytest.raises(ValueError, match="must be whole, got 2 damaged; delete the run's"):
            newest(tmp_path, lambda text: None)


def test_a_step_may_be_damaged_twice(tmp_path):
    save_some(tmp_path, 1)
    for _ in range(2):
        (path,) = save_some(tmp_path, 2)
        flip(path / "state.json", 3)
        assert newest(tmp_path, lambda text: None).state["step"] == 1


def test_what_was_half_written_is_cleared_away(tmp_path):
    save_some(tmp_path, 1)
    (tmp_path / ".writing-00000002").mkdir()
    (tmp_path / ".writing-00000002" / "model.safetensors").write_bytes(b"half")
    assert newest(tmp_path).state["step"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]


@pytest.mark.parametrize("name", [".writing-00000002", "step-00000000", "damaged-step-00000002"])
def test_a_file_or_link_in_the_place_of_a_folder_is_cleared_away(tmp_path, name):
    for make in (lambda path: path.write_text("x"), lambda path: path.symlink_to("nowhere")):
        paths = save_some(tmp_path / make.__code__.co_names[0], 1, 2, 3)
        (paths[-1] / "state.json").unlink()
        make(paths[-1].with_name(name))
        assert newest(paths[-1].parent, lambda text: None).state["step"] == 2
        save_some(paths[-1].parent, 3)
        assert newest(paths[-1].parent).state["step"] == 3


def rewrite(path, change):
    """Change the manifest as JSON."""
    content = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps(change(content)))


def without(name):
    return lambda files: {key: value for key, value in files.items() if key != name}


MANIFESTS = [
    (without("model.safetensors"), "does not list model.safetensors"),
    (without("optimizer.safetensors"), "does not list optimizer.safetensors"),
    (without("state.json"), "does not list state.json"),
    (lambda files: [], "is not a table"),
    (lambda files: {**files, "../../x.safetensors": "0"}, "lists what is no file of a checkpoint"),
    (lambda files: {**files, "absent.safetensors": "0"}, "absent.safetensors: No such file"),
]


@pytest.mark.parametrize(("change", "reason"), MANIFESTS, ids=[reason for _, reason in MANIFESTS])
def test_a_manifest_that_lists_other_files_is_damaged(tmp_path, change, reason):
    path, said = save_some(tmp_path, 1, 2)[1], []
    rewrite(path, change)
    assert newest(tmp_path, said.append).state["step"] == 1
    assert reason in said[0]


@pytest.mark.parametrize("content", [b"[]", b"null", b"", b"\xff", b"[" * 100_000])
def test_a_state_that_is_no_table_is_damaged_even_with_the_right_hash(tmp_path, content):
    path = save_some(tmp_path, 1)[0]
    (path / "state.json").write_bytes(content)
    rewrite(path, lambda files: {**files, "state.json": hashlib.sha256(content).hexdigest()})
    with pytest.raises(DamagedError, match=r"state\.json is not"):
        load(path)


def test_a_fifo_is_damage_and_waits_for_no_one(tmp_path):
    path = save_some(tmp_path, 1)[0] / "state.json"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(DamagedError, match="not a regular file"):
        load(path.parent)


def test_what_a_kill_left_of_older_ones_is_cleared_away(tmp_path):
    save_some(tmp_path, 2, 3)
    (tmp_path / "step-00000001").mkdir()
    assert newest(tmp_path).state["step"] == 3
    assert [path.name for path in steps(tmp_path)] == ["step-00000002", "step-00000003"]


@pytest.mark.parametrize("name", FILES[1:3])
def test_a_full_disk_is_named_and_earlier_ones_stay_whole(tmp_path, name, monkeypatch):
    save_some(tmp_path, 1, 2)
    refuse_to_write(monkeypatch, name, errno.ENOSPC)
    with pytest.raises(OSError, match="the disk is full; earlier checkpoints are whole") as failed:
        save_some(tmp_path, 3)
    assert failed.value.errno == errno.ENOSPC
    assert [load(path).state["step"] for path in steps(tmp_path)] == [1, 2]
    assert not list(tmp_path.glob(".writing*"))


def test_another_failure_to_write_is_named_too(tmp_path, monkeypatch):
    refuse_to_write(monkeypatch, "state.json", errno.EIO)
    with pytest.raises(OSError, match=r"could not write to .*: as the system says; earlier"):
        save_some(tmp_path, 3)


def test_the_manifest_is_written_last_and_before_the_final_name(tmp_path, monkeypatch):
    write, seen = checkpoint._write, []

    def spied(path, content):
        seen.append((path.name, steps(tmp_path)))
        write(path, content)

    monkeypatch.setattr(checkpoint, "_write", spied)
    save_some(tmp_path, 1)
    assert seen == [(name, []) for name in FILES]
