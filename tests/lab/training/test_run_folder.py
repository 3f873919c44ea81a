import fcntl
import os
from dataclasses import replace
from threading import Timer

import pytest
from tiny_runs import tiny

from softaug.lab.io import write_json
from softaug.lab.recipes import as_dict
from softaug.lab.training.run_dir import (
    LOCK,
    check_recipe,
    is_locked,
    lock_run_dir,
)


def test_a_second_holder_is_refused(tmp_path):
    with (
        lock_run_dir(tmp_path),
        pytest.raises(ValueError, match=r"only one process may train in .* choose another --out"),
        lock_run_dir(tmp_path),
    ):
        pass


def test_the_folder_is_free_again_after_an_error(tmp_path):
    with pytest.raises(KeyError), lock_run_dir(tmp_path / "new"):
        raise KeyError
    with lock_run_dir(tmp_path / "new"):
        pass


def test_a_lock_dies_with_its_process(tmp_path):
    child = os.fork()
    if child == 0:
        lock_run_dir(tmp_path).__enter__()
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    with lock_run_dir(tmp_path):
        pass


def test_whether_a_folder_is_held_is_seen_without_a_trace(tmp_path):
    lock = tmp_path / LOCK
    assert not is_locked(lock)
    assert list(tmp_path.iterdir()) == []
    with lock_run_dir(tmp_path):
        assert is_locked(lock)
    assert not is_locked(lock)


def test_a_short_look_at_the_lock_refuses_no_one(tmp_path):
    with lock_run_dir(tmp_path):
        pass
    looking = (tmp_path / LOCK).open("rb")
    fcntl.flock(looking, fcntl.LOCK_SH)
    end = Timer(0.05, looking.close)
    end.start()
    with lock_run_dir(tmp_path):
        end.join()


def test_the_same_recipe_is_welcome(tmp_path):
    check_recipe(tmp_path, tiny())
    write_json(as_dict(tiny()), tmp_path / "recipe.json")
    check_recipe(tmp_path, tiny())


def test_a_whole_number_for_a_fraction_is_the_same_recipe(tmp_path):
    (tmp_path / "checkpoints/step-00000001").mkdir(parents=True)
    write_json(as_dict(tiny(optim_warmup_epochs=0)), tmp_path / "recipe.json")
    check_recipe(tmp_path, tiny(optim_warmup_epochs=0))
    check_recipe(tmp_path, tiny(optim_warmup_epochs=0.0))


def test_another_recipe_is_refused_with_the_difference(tmp_path):
    write_json(as_dict(tiny()), tmp_path / "recipe.json")
    (tmp_path / "checkpoints/step-00000001").mkdir(parents=True)
    other = replace(tiny(optim_lr=0.05), epochs=3)
    with pytest.raises(ValueError, match="holds a run of another recipe") as refused:
        check_recipe(tmp_path, other)
    assert str(refused.value).splitlines()[1:] == ["  epochs: 2 -> 3", "  optim.lr: 0.1 -> 0.05"]
