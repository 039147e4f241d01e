"""Collections and their manager, under smdebug's names."""

from __future__ import annotations

import pytest

from smdebug import CollectionKeys, ReductionConfig, SaveConfig, SaveConfigMode, modes
from smdebug.core.collection import Collection
from smdebug.core.collection_manager import CollectionManager
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError


def full():
    """Return a collection that says everything."""
    return Collection(
        "own",
        ["relu"],
        ["b", "a"],
        ReductionConfig(["mean"]),
        SaveConfig(save_interval=3),
        save_histogram=False,
    )


class TestCollection:
    def test_json_and_back(self):
        """What is written is read as the same."""
        assert full() == Collection.from_json(full().to_json())

    def test_its_json_is_that_of_a_collections_file(self):
        """Names of tensors are sorted; what it does not say is null."""
        collection = Collection("own", tensor_names={"b", "a"})
        keys = ["name", "include_regex", "tensor_names", "reduction_config", "save_config"]

        assert ({"tensor_names": ["a", "b"], "save_config": None}, [*keys, "save_histogram"]) == (
            {key: collection.to_json_dict()[key] for key in ("tensor_names", "save_config")},
            list(collection.to_json_dict()),
        )

    def test_it_holds_what_is_added(self):
        """Patterns as texts and lists, tensors by name."""
        collection = Collection("own")
        collection.include("a")
        collection.include(["b", ["c"]])
        collection.add_tensor_name("x")
        collection.add_tensor_name("y")
        collection.remove_tensor_name("y")

        assert (["a", "b", "c"], {"x"}, True) == (
            collection.include_regex,
            collection.tensor_names,
            collection.has_tensor_name("x"),
        )

    def test_a_dict_of_modes_is_a_save_config(self):
        """As the old docs set it."""
        collection = Collection("own")
        collection.save_config = {modes.TRAIN: SaveConfigMode(2)}

        assert SaveConfigMode(2) == collection.save_config.get_save_config(modes.TRAIN)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("tensor_names", "a"),
            ("reduction_config", {"reductions": "mean"}),
            ("save_config", 5),
        ],
    )
    def test_wrong_types_are_said(self, name, value):
        """The message names the attribute."""
        with pytest.raises(SMDebugTypeError, match=f"^{name} is a"):
            setattr(Collection("own"), name, value)

    @pytest.mark.parametrize("value", [3, [3]])
    def test_only_patterns_can_be_included(self, value):
        """A text or a list of texts."""
        with pytest.raises(SMDebugTypeError, match="include takes"):
            Collection("own").include(value)

    def test_its_hash_is_that_of_its_name(self):
        """It can be a member of a set, though it changes."""
        assert hash(Collection("own")) == hash(full())


class TestCollectionManager:
    def test_the_documented_way_to_switch_a_collection_off(self):
        """Its save configuration can be changed though nothing was said of it."""
        manager = CollectionManager()
        manager.create_built_in("pytorch")
        manager.get("losses").save_config.end_step = 0
        config = manager.get("losses").save_config
        config.merge_default_save_config(SaveConfig(save_interval=1))

        assert not config.should_save_step(modes.TRAIN, 0)

    def test_asking_changes_nothing(self):
        """A collection that was looked at is written, and equal, as before."""
        manager = CollectionManager()
        manager.create_collection("own")
        before = manager.to_json_dict()
        manager.get("own").save_config  # noqa: B018 - looking is what is tested

        assert before == manager.to_json_dict()

    def test_built_in_collections_have_their_patterns(self):
        """Those of the framework."""
        manager = CollectionManager()
        manager.create_built_in("pytorch")

        assert (["[Ll]oss_(?!input).*output"], []) == (
            manager.get(CollectionKeys.LOSSES).include_regex,
            manager.get(CollectionKeys.ALL).include_regex,
        )

    def test_what_is_not_there_is_made_unless_that_is_not_wanted(self):
        """An error tells which there are."""
        manager = CollectionManager()
        manager.add("there")
        made = manager.get("new").name

        with pytest.raises(SMDebugError, match="no collection 'none'; there are there, new"):
            manager.get("none", create=False)
        assert made == "new"

    def test_a_collection_takes_the_place_of_one_of_the_same_name(self):
        """``add`` takes names and collections."""
        manager = CollectionManager({"own": Collection("own")})
        manager.add(full())

        assert full() == manager.get_collections()["own"]

    def test_a_file_and_back(self, tmp_path):
        """What is exported is loaded as the same, with the number of workers."""
        manager = CollectionManager({"own": full()})
        manager.set_num_workers(2)
        manager.export(str(tmp_path), "worker_0_collections.json")
        loaded = CollectionManager.load(
            tmp_path / "collections" / "000000000" / "worker_0_collections.json"
        )

        assert (manager, 2) == (loaded, loaded.get_num_workers())

    def test_a_file_of_something_else_is_said(self):
        """Only collections and what is noted beside them."""
        with pytest.raises(SMDebugValueError, match="a collections file holds"):
            CollectionManager.load_from_string('{"collections": {}, "other": 1}')
