"""Nodes that do not see the results' folder, or that run other code, are refused."""

from dataclasses import replace

import pytest

from softaug.lab.reproduce.ray import able_nodes, check_node, code_here, meeting


def test_a_node_that_sees_the_folder_leaves_nothing_there(tmp_path):
    with meeting(tmp_path) as place:
        check_node(place)
        assert list(tmp_path.iterdir()) == [place.file]
    assert list(tmp_path.iterdir()) == []


def test_a_node_without_the_folder_is_refused(tmp_path):
    with meeting(tmp_path / "out") as place:
        elsewhere = replace(place, file=tmp_path / "other" / place.file.name)
    with pytest.raises(ValueError, match=r"every node must see .*other"):
        check_node(elsewhere)
    assert not (tmp_path / "other").exists()


def test_a_folder_of_the_same_name_on_another_disk_is_noticed(tmp_path):
    with meeting(tmp_path) as place:
        place.file.write_text("another grid's")
        with pytest.raises(ValueError, match="every node must see"):
            check_node(place)


@pytest.mark.parametrize("name", ["softaug", "commit", "torch"])
def test_other_code_is_refused(tmp_path, name):
    with meeting(tmp_path) as place:
        other = replace(place, code={**place.code, name: "0.0.1"})
        with pytest.raises(ValueError, match=f"every node must have {name} 0.0.1, got"):
            check_node(other)


def test_what_one_side_does_not_know_is_not_compared(tmp_path):
    with meeting(tmp_path) as place:
        check_node(replace(place, code={**code_here(), "commit": None}))


def test_nodes_that_are_dead_or_have_no_core_are_not_asked():
    able = {"Alive": True, "Resources": {"CPU": 2.0}}
    head = {"Alive": True, "Resources": {"memory": 1.0}}
    assert able_nodes([able, head, {**able, "Alive": False}]) == [able]
