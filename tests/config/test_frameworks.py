"""What a hook configuration means for each framework."""

from __future__ import annotations

from hook_files import entry, read

from stepwatch.config.frameworks import spoken


class TestSpoken:
    def test_built_in_collections_find_what_the_framework_calls_so(self, tmp_path):
        """As if it had been read for that framework; what was asked for stays."""
        collections = [entry("losses", include_regex="mine"), entry("own", include_regex="own")]
        config = read(tmp_path, {}, collections)

        assert read(tmp_path, {}, collections, kind="mxnet") == spoken(config, "mxnet")
