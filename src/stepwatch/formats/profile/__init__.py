"""Where the time of a run went, and what its machines did then.

    profile/system/<node>/<part>.parquet          readings of the devices of a machine
    profile/spans/<worker>/<part>.parquet         timed intervals of a worker
    profile/machines/<node>.json                  what a machine is, and who reads its devices
    profile/traces/steps_<first>-<last>/...       windows in detail, for Perfetto

Times are nanoseconds since the Unix epoch, as those of the tensors are. Parts are immutable and
appear whole. Merging bounds their number and what they hold: what lies longer back is told in
less detail, and of what was joined the extremes stay.
"""
