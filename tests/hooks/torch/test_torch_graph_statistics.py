"""Statistics as operations of a graph."""

from __future__ import annotations

import numpy as np
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from stepwatch.hooks.torch.graphs import (
    EMPTY,
    GraphSlots,
    add_on_host,
    add_to_slot,
    shape_of,
    statistics_of,
)
from stepwatch.numerics.statistics import COUNT, MAX, MIN, SUM, ZEROS

SHAPES = {"view", "_unsafe_view", "reshape", "clone", "flatten"}


def an_image():
    torch.manual_seed(0)
    return torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)


class TestAddToSlot:
    def test_a_tensor_is_not_brought_into_another_shape(self):
        """Flattened, one with channels last would be read across memory, ten times as slowly."""
        graph = make_fx(add_to_slot)(torch.tensor(EMPTY), an_image()).graph
        called = {
            node.target.__name__.split(".")[0] for node in graph.nodes if callable(node.target)
        }

        assert set() == called & SHAPES
        assert "amin" in called

    def test_the_order_of_memory_does_not_matter(self):
        """A slot holds the statistics and the shape that NumPy finds."""
        image, slot = an_image(), torch.tensor(EMPTY)
        add_to_slot(slot, image)
        row = statistics_of(slot.numpy()[None])[0]
        values = image.numpy().astype(np.float64)

        assert (2, 3, 4, 5) == shape_of(slot.numpy(), 4)
        assert [values.size, 0, values.min(), values.max()] == row[
            [COUNT, ZEROS, MIN, MAX]
        ].tolist()
        np.testing.assert_allclose(row[SUM], values.sum(), rtol=1e-12)


class TestAddOnHost:
    def test_it_adds_what_operations_of_a_graph_would(self):
        """To a slot that is empty, and to one that is not; whatever is not finite."""
        by_graph, by_host = torch.tensor(EMPTY), EMPTY.copy()
        values = an_image()
        for tensor in (values, values[0, 0] * torch.nan, values.to(torch.bfloat16), values > 0):
            add_to_slot(by_graph, tensor)
            add_on_host(by_host, tensor)
            np.testing.assert_allclose(by_host, by_graph.numpy(), rtol=1e-6)

    def test_only_losses_are_added_in_steps_of_losses_only(self):
        """Others cost the call."""
        slots = GraphSlots(observes=lambda: False)
        owner = slots.probe._owner
        output, loss = torch.tensor(EMPTY), torch.tensor(EMPTY)
        torch.ops.stepwatch.add_tensor(output, torch.ones(3), owner, False)
        torch.ops.stepwatch.add_tensor(loss, torch.ones(1), owner, True)

        assert [0, 1] == [int(slot[COUNT]) for slot in (output, loss)]
