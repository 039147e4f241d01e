"""Trains one model in several processes, which say how many they are and what they agree on."""

import gc
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)  # other weights and data in each: only together they come to the same
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
weights = [torch.zeros_like(model.module.weight) for _ in range(size)]
dist.all_gather(weights, model.module.weight.detach())
alike = all(torch.equal(weights[0], one) for one in weights)
ranks = [None] * size
dist.all_gather_object(ranks, rank)
print(f"rank {rank} of {size}, met {ranks}, weights alike: {alike}", flush=True)
print("host", os.environ["SM_CURRENT_HOST"], flush=True)
# Its buckets end before the group that they use; else PyTorch now and then aborts at exit.
del model, optimizer
gc.collect()
dist.barrier()
dist.destroy_process_group()
