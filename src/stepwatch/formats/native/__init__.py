"""The native format: open, columnar, readable with no line of ours.

    run.json                                              what this run is
    observations/<worker>/<first>-<last>.parquet          one row per step and tensor
    tensors/<worker>/<first>-<last>.safetensors           raw values of one or more steps
    findings/<who>.jsonl                                  what rules found
    end/<worker>.json                                     how this worker's run ended

Parts are immutable and appear whole. Raw values are written before the rows that name them, so
a reader that trusts only rows never sees half a step.
"""
