"""What a script has put together by mistake: layers, momentum, weights of classes, metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..judge.declaration import parameter
from ..judge.rule import Findings, NotApplicable, Rule
from ..judge.step_view import StepNumber, StepView
from ..model.finding import Finding
from ..model.record import StepRecord
from ..numerics.measures import Floats, listed, number
from .boosting import Boosting
from .posterior import Posteriors
from .shared import direction, in_a_row, prefixed, summaries

_PREFIX = "setup/"
#: A class with fewer labels says nothing; the classes must differ so much in them, and in weight.
MIN_LABELS, UNEVEN, WEIGHTED = 10, 2.0, 1.2
#: Weights of three or more classes follow the counts with such a correlation and exponent at least;
#: of two, where any two numbers do, with an exponent near 1.
FOLLOWS, EXPONENT, NEAR_ONE = 0.95, 0.3, (0.6, 1.6)

#: Statistics are slow if less than this share of a batch is new, and useless if so much of what
#: they were at first is left at the end, after so many steps.
SLOW, KEPT, MIN_STEPS = 0.01, 0.3, 100
_MOMENTUM = (
    "take momentum=0.1 in PyTorch, which is the share that is new, and 0.99 in Keras, which is the"
    " share that is kept"
)

_SCALE = "hyperparameters/scale_pos_weight"
_READAPTED = "evaluation/readapted/"
_PART = "evaluation/part_of_data/"
#: A trainer takes a part of its data for all if it is at most this, by which option it does, and
#: takes it for so many epochs.
MOST_PART, PART_EPOCHS = {"overfit_batches": 0.5, "limit_train_batches": 0.1}, 3
_RECODED, _RECODED_BEFORE, _RECODED_NOW = (
    f"evaluation/recoded{what}/" for what in ("", "_before", "_now")
)
#: Of helpers that prepare data: what is wrong with one, and what to do.
_HELPERS = {
    "unfitted": (
        "{0} normalizes what is evaluated by statistics of no data, and does not update them: the"
        " model is given other numbers than in training",
        "load the statistics of the training: VecNormalize.load(path, venv), or give the"
        " environment that is evaluated those of the other, eval_env.obs_rms = env.obs_rms",
    ),
    "split_edges": (
        "{0} holds out single directions of the edges of a graph that has none: the other direction"
        " of what is evaluated stays among the edges that are trained on",
        "tell it that the graph has no directions: RandomLinkSplit(is_undirected=True, ...)",
    ),
    "changed_by_reading": (
        "reading a sample changes it in {0}: what is done in place to a part of an array is done"
        " to the data, and once more in each epoch",
        "copy what is given before it is changed (x = self.x[i].copy(), or .clone()), or write x ="
        " x - mean in place of x -= mean",
    ),
    "other_order": (
        "{0} has a value for each sample in the order of an earlier pass, and the training reads it"
        " by the number of the batch, while the loader shuffles anew in each epoch: each sample is"
        " given the value of another one",
        "compute it of each batch as that is given, or keep it by the index of the sample and have"
        " the data set give it beside x and y",
    ),
    "reshuffled": (
        "{0} predicted from a data set that is shuffled anew at each pass, and its labels were read"
        " in another pass: each prediction is compared with the label of another sample",
        "do not shuffle what is evaluated (shuffle=False), or read labels in the pass that predicts"
        " (predict_on_batch); so do metrics of evaluate()",
    ),
}
_RESCALED, _RESCALED_RATIO = "evaluation/rescaled/", "evaluation/rescaled_ratio/"
_SECOND = f"{_PREFIX}second_derivative/"
_REMADE = f"{_PREFIX}remade/"
_ENDS, _TOTAL, _LEFT = (f"{_PREFIX}schedule_{what}/" for what in ("ends", "total", "left"))
#: What a metric of Keras takes for right, and what its labels or predictions are instead.
METRICS: Mapping[str, tuple[str, str]] = {
    "accuracy": (
        "counts predictions that are equal to their labels, and predictions are no whole numbers",
        "write metrics=['accuracy'], which takes the metric that fits, and no Accuracy() object",
    ),
    "binary_accuracy": (
        "compares predictions, rounded to 0 or 1, with labels that are neither",
        "take one unit for each class and 'accuracy' where labels are whole numbers of classes, and"
        " a metric of regression, such as 'mae', where they are numbers to be predicted",
    ),
    "binary_accuracy_of_classes": (
        "counts each zero of a one-hot label as right, so that it is high from the first step on",
        "take 'accuracy' or 'categorical_accuracy'",
    ),
    "categorical_accuracy": (
        "takes the largest element of a label for its class, and labels are whole numbers in one"
        " column: it counts predictions of class 0",
        "take 'accuracy' or 'sparse_categorical_accuracy'",
    ),
    "sparse_categorical_accuracy": (
        "takes labels for classes that are no whole numbers",
        "take a metric of regression, such as 'mae'",
    ),
    "rows": (
        "compares the largest element of a prediction with that of its label, and labels have"
        " several, or none",
        "take 'binary_accuracy' for several labels a sample, and one such as 'mae' for numbers",
    ),
}


#: What a function of JAX was given, what that means, and what to do.
_REPEATS = {
    "same_key": (
        "random key",
        "what it draws, as a batch, noise or dropout, is the same each time",
        "take a new one for each step: key, subkey = jax.random.split(key), or"
        " jax.random.fold_in(key, step)",
    ),
    "same_state": (
        "optimizer state",
        "its count stays, so moments and schedules begin anew each time",
        "return the state that optimizer.update() returns, and pass it to the next step",
    ),
}

#: What is wrong with layers, and what to do.
_LAYERS = {
    "over_samples": (
        "taken over dimension 0, the samples of the batch: what is predicted for one depends on"
        " the others",
        "give it dim=-1 (axis=-1 in Keras), or the dimension of the classes, features or"
        " positions; without a dim, softmax of PyTorch takes dimension 0 of three",
    ),
    "padding_only": (
        "attention sees only padding: the mask keeps the pad tokens and hides the others",
        "invert the mask: of a key padding mask of PyTorch True is what is ignored, so"
        " src_key_padding_mask=(ids == pad); of an attention_mask of Keras it is what is seen, so"
        " attention_mask=(ids != pad)",
    ),
    "pads_tokens": (
        "the id of padding stands between other tokens: it is that of a token as well, which the"
        " model is never told",
        "begin the ids of tokens at 1, and give the embedding one row more; 0 (padding_idx, or 0"
        " with mask_zero=True) is for padding alone",
    ),
    "pads_targets": (
        "half or more of the targets that it counts are those of padding, all of one class: loss"
        " and metrics become good by what is easily told and says nothing of the others",
        "leave padding out of both: in Keras by mask_zero=True or a sample_weight that is 0 there,"
        " with weighted_metrics; in PyTorch by ignore_index",
    ),
    "no_end": (
        "the targets are the next tokens, and what ends a sample is never one: the last token"
        " before the padding has a target that does not count: the model never learns to stop",
        "let one target after the last token count: the sign of an end, such as <eos> or <stop>",
    ),
    "one_unit": (
        "a softmax over one unit is 1 whatever it is given, and nothing is learnt by it",
        "take activation='sigmoid' for one unit, or one unit for each class; for weights of"
        " positions, a softmax over their axis, as by Softmax(axis=1); of gates of the k best, the"
        " softmax before topk, which leaves one where k is 1",
    ),
    "unfrozen": (
        "its weights may be trained by now, but the training function was made, and the optimizer"
        " was given its weights, while it was frozen: it stays as it is",
        "compile the model again after trainable is set, before fit",
    ),
    "all_frozen": (
        "it is trained, and all of its layers are frozen: nothing is learnt",
        "leave trainable as it is for the layers that are to learn, as the last ones, and compile"
        " the model after it is set",
    ),
    "trained_before": (
        "half or more of what validates it is what it was trained on in an earlier call of fit: it"
        " knows these samples, and does worse on others",
        "build the model anew for each fold, or set its weights back to those of the beginning",
    ),
    "constant_penalty": (
        "the penalty is made of gradients that have no graph, so that it is a number: it is in the"
        " loss, and trains nothing",
        "let the gradients be differentiated again: torch.autograd.grad(..., create_graph=True)",
    ),
    "other_noise": (
        "the noise that it is to predict is not in what the model is given: it was drawn apart from"
        " the noise that was added to the samples, and nothing can be learnt but its mean",
        "draw the noise once, for both: noisy = add_noise(x, noise, t), and the loss between"
        " model(noisy, t) and this noise",
    ),
    "swapped_noise": (
        "noise and samples have changed places: at the first steps what the model is given is noise"
        " for the most part, and at the last it is the samples",
        "give the function that adds noise its arguments in the order that it takes them, as in"
        " add_noise(samples, noise, timesteps)",
    ),
    "same_noise": (
        "what is drawn for a batch, as noise or dropout, is the very same at each step, by a seed"
        " or a random key that never changes, or by NumPy as the step is compiled: the model learns"
        " with one pattern, and not with noise",
        "in Keras make self.seed_generator = keras.random.SeedGenerator(seed) once, as in"
        " __init__, and pass seed=self.seed_generator, which draws something else each time; in"
        " JAX give the function that trains a key for each step, jax.random.fold_in(key, step)",
    ),
    "trained_teacher": (
        "it is asked as in evaluation what a second model, which is given the same as in training,"
        " is to say, and the optimizer updates it too: a teacher that is trained with its student"
        " meets it halfway, and forgets what it knew",
        "give the optimizer the student's variables alone, as student.trainable_variables, or set"
        " teacher.trainable = False before compile()",
    ),
    "masks_nothing": (
        "no step of a sequence has the value that it masks, and many sequences end, or begin, in"
        " the same step over and over, as padded ones do: padding is read like data",
        "pad after scaling, or scale only the steps that are data, so that padding keeps the"
        " mask_value of Masking in all its features",
    ),
    "moved_inputs": (
        "it flips or moves the pictures within the model, and the targets, which have a value for"
        " each place of a picture, stay as they are: they belong to other places",
        "move picture and target together before they are given to the model, as in tf.data or a"
        " PyDataset, by one layer that is called on both",
    ),
    "first_weights": (
        "at the end of fit the weights are overwritten by their moving average, and after the"
        " steps that fit is asked for more than half of that is still what they began with",
        "take a smaller ema_momentum, such that momentum ** steps is near 0, as 0.99 for some"
        " hundred steps, or no use_ema",
    ),
    "untracked": (
        "it runs within the model and is none of its layers, as where a function or a Lambda calls"
        " it: the optimizer has not its weights, which stay as they were drawn",
        "call the layer in the graph of the model, or make it in __init__ of a layer or model of"
        " your own and call it in call(), so that Keras knows its weights",
    ),
    "unused_penalty": (
        "it has a penalty, as kernel_regularizer or add_loss() makes one, and nothing asks the"
        " model for its losses: no gradient is of it, and it changes nothing",
        "add the penalties to what is differentiated, loss + sum(model.losses), or compute the loss"
        " by model.compute_loss(x, y, y_pred), as fit does",
    ),
    "same_views": (
        "the two views of each sample that a contrastive loss compares are the same, bit for bit:"
        " each is to be told from the others by what it shares with itself, and no invariance is"
        " learnt",
        "draw the augmentation of each view anew: seed a generator once, before the loop, and not"
        " in each call; where dropout is to tell the views apart, see that the model is in train"
        " mode",
    ),
    "unpaired": (
        "the targets of a contrastive loss pair each vector with that of another sample, and none"
        " with the other view of its own: what is alike is pushed apart",
        "after torch.cat([z1, z2]) of n samples the positive of row i is row (i + n) % (2 * n);"
        " after torch.stack([z1, z2], 1).flatten(0, 1) it is row i ^ 1",
    ),
    "reseeded": (
        "the random generator is seeded anew with the same number in each step: dropout, noise and"
        " all else that is drawn is the very same at each step, and the model learns with one"
        " pattern",
        "call torch.manual_seed() once, before the loop; in it take a torch.Generator of its own"
        " for what is to be the same",
    ),
    "across": (
        "tokens follow one another along the axis that the layer takes for the samples, and not"
        " along that of time: what it reads lies far apart in the text, or samples come first",
        "cut a text into columns by text.view(batch, -1).t(), not text.view(-1, batch); give a"
        " recurrent layer batch_first=True where the first axis is that of the samples",
    ),
    "reshaped": (
        "what it is given was reshaped where axes were to change places: the elements stay in"
        " their order, so that those of several positions, as of time and channels or of classes,"
        " are put together",
        "transpose it, as by x.transpose(1, 2) or x.permute(0, 2, 1), in Keras by a layer Permute,"
        " in place of view() or reshape()",
    ),
    "torn_edges": (
        "edges are a list of pairs that was reshaped: they go both ways where ends that lie side by"
        " side are a pair, and hardly any does as they are, so nodes have neighbours at random",
        "transpose the list, edge_index = torch.tensor(edges).t().contiguous(), in place of"
        " view(2, -1) or reshape(2, -1)",
    ),
    "no_offset": (
        "the graphs of a batch were put together without counting on: the edges of each count its"
        " nodes from 0, so all end in the nodes of the first graphs, and the others have no edges",
        "add to the edge_index of each graph how many nodes the graphs before it have, as"
        " torch_geometric.data.Batch.from_data_list and its DataLoader do",
    ),
    "sees_next": (
        "each position is given what comes after it, and the targets are the next tokens: what is"
        " to be predicted is among what it is given",
        "call attention with use_causal_mask=True, or with a mask by which position i sees j where"
        " i >= j; give convolutions padding='causal', and have no"
        " recurrent layer in Bidirectional",
    ),
    "risk_set": (
        "times rise in the order in which the loss adds up risks: each event is compared with those"
        " whose time was over before it, and not with those who were still at risk",
        "sort by falling times before the cumulative sum, as by torch.argsort(time,"
        " descending=True), or flip what is added up",
    ),
    "turned": (
        "the loss pushes apart what is alike and pulls together what is not: by their numbers,"
        " samples that it pushes apart are closer to each other than any two are, and those that it"
        " pulls together are not",
        "look at the order of the arguments, triplet_margin_loss(anchor, positive, negative), and"
        " at what a label of 1 means to the loss and to what makes the pairs",
    ),
}

#: Of what these are said of several steps were looked at before.
_LOOKED_AT_BEFORE = (
    "turned",
    "swapped_noise",
    "no_offset",
    "reseeded",
    "same_views",
    "unpaired",
    "unfrozen",
    "all_frozen",
    "trained_before",
)

#: What was taken in place of something else, by both names.
_CONFUSED = {
    "crossed_rows": (
        "{0} and {1} were flattened in the order of different axes, as one of shape (steps, places)"
        " and one of shape (places, steps): row i of one belongs to another sample than row i of"
        " the other",
        "bring both into one order before they are flattened: transpose one of them, as by"
        " x.transpose(0, 1).reshape(-1)",
    ),
    "torn_pairs": (
        "the edges of {0} are the pairs of {1}, reshaped and not transposed: each joins the ends of"
        " two different pairs, so nodes have neighbours at random",
        "transpose the list, edge_index = torch.tensor(edges).t().contiguous(), in place of"
        " view(2, -1) or reshape(2, -1)",
    ),
    "other_range": (
        "some ids of {0} are drawn from as many as {1} has rows, {rows}, and so never reach the"
        " others, though other ids of it do",
        "draw from the rows of the table that the ids are for, as torch.randint(0, n_items, ...)"
        " for negative items",
    ),
    "not_cumulative": (
        "noise is added by {0}, which is of one step, and not by {1}, which is its cumulative"
        " product: the model hardly sees noise at any step, and a sampler begins with nothing else",
        "add noise by the cumulative product of the alphas, as by alpha_bar[t]",
    ),
    "other_ids": (
        "{0} is only ever looked up by the ids of {1}, and never by its own: what it returns says"
        " nothing but which of those it is",
        "give each embedding its own ids, as self.item(items) in place of self.item(users)",
    ),
}


class Setup(Rule):
    """A part of the training that was put together so that it cannot do what it is for.

    ``repeated``: one layer stands at several places of a container, as by ``[layer] * 4``, so that
    there is only one of it. ``linear``: no activation stands between two layers. ``over_samples``:
    a softmax, or a norm, is taken over the batch. ``padding_only``: attention is given a mask that
    leaves padding and hides all else. ``pads_tokens``: the id of padding is that of a token as
    well. ``pads_targets``: most targets that count are of padding. ``no_end``: no target is the end
    of a sample. ``one_unit``: a softmax of Keras is taken over one unit. ``unfrozen``: a layer of a
    Keras model was unfrozen and the model not compiled again.
    ``all_frozen``: a Keras model is trained that has no layer that learns.
    ``trained_before``: what validates a Keras model was trained on by it in an earlier ``fit``.
    ``reshaped``: predictions, or what a layer is given, are reshaped and not transposed.
    ``torn_edges``, ``torn_pairs``:
    edges of a graph are a list of pairs that was reshaped and not transposed. ``crossed_rows``: two
    tensors were flattened in the order of different axes. ``no_offset``: edges
    of several graphs are put into a batch as if each were alone. ``across``: a recurrent layer
    reads text across the samples. ``sees_next``: a Keras model of next tokens has layers that look
    ahead. ``momentum``: batch normalization takes nothing, or nearly all, of each batch into its
    running statistics, or so little that they are not there when training ends. ``class_weights``:
    the weights of classes rise with how often they occur. ``second_derivative``: derivatives of
    derivatives are zero, as activations have corners and no curve. ``uncalled``: a layer of a Keras
    model is never called. ``monitor``: a callback is told that less is better of what ought to
    rise, or the other way round. ``schedule``: one of Keras is over long before the steps that
    ``fit`` is asked for. ``same_key``, ``same_state``: a function of JAX is given the same random
    key, or state of an optimizer, at each step. ``remade``: in each epoch the optimizer of JAX or
    Keras is made anew, for weights that are trained on. ``reseeded``: each step of PyTorch draws
    the same. ``same_views``: a contrastive loss of PyTorch compares each sample with itself.
    ``unpaired``: or pairs each with another one.
    ``same_noise``: a layer of Keras, or a function of JAX, draws the same at each step.
    ``unused_penalty``: a regularizer of Keras is in no loss. ``untracked``: a layer runs within a
    model of Keras that does not know it. ``trained_teacher``: a model of Keras that is asked what
    another one is to say is trained with it. ``masks_nothing``: padding has not the value that is
    masked. ``moved_inputs``: pictures are flipped or moved within a model, and their targets are
    not. ``first_weights``: a moving average of weights ends as what they began with.
    ``metric``: a metric counts what its labels are not. ``unsplit``: no tree of boosting has a
    split. ``uphill``: gradients of an objective that a script brings along have the wrong sign.
    ``early_stopping``: the metric that ends boosting early gets worse from the first round on by
    what it is told, and better by its name, or while training makes it so. ``stops_on_trained``:
    that metric is of the data that are trained on, though others are evaluated. ``few_rounds``:
    boosting ends while it still improves as it did, and its learning rate times its rounds are too
    little.
    ``few_leaves``: its leaves must hold so many rows that a tree has room for next to none.
    ``uncensored``: of times of events (survival) each is that of one that was seen. ``ungrouped``:
    rows that are ranked were shuffled apart from the groups that they belong to. ``risk_set``: a
    likelihood of survival compares with those who are gone already. ``other_range``: ids of an
    embedding are drawn from the range of another one. ``other_ids``: an embedding is looked up by
    the ids of another one. ``turned``: a loss of triplets or pairs pulls together what is unlike,
    and pushes apart what is alike. ``constant_penalty``: one on gradients has no graph.
    ``other_noise``: a diffusion model is not given the noise that it is to predict.
    ``swapped_noise``: one is given noise in place of samples, and samples in place of noise.
    ``not_cumulative``: one is given noise by what one step keeps, and not by the product of all
    until then. ``constrained``: monotone constraints go against the data.
    ``posterior``: the code of a variational autoencoder says nothing of a sample.
    ``temperature``: logits are cosines times so small a number that cross-entropy stays near that
    of a guess. ``recoded``: categories have other numbers in training than in the data that are
    evaluated, as the script numbered them once more.
    ``unfitted``: a normalization of what is evaluated has seen no data. ``split_edges``: one
    direction of an edge is evaluated, and the other is trained on. ``reshuffled``: predictions and
    labels are of two passes over data that are shuffled anew at each. ``other_order``:
    what was computed of each batch is read by the number of the batch, which is another one in each
    epoch. ``changed_by_reading``: a
    data set changes a sample as it gives it.
    ``rescaled``: a scaler is fitted to the data that are trained on, and again to those that are
    evaluated. ``readapted``: a model of Keras is evaluated on the ids of a vocabulary that was
    adapted anew. ``part_of_data``: a trainer takes the same few batches in each epoch, as its
    options for trying out ask, and other data are tested.
    """

    name = "setup"
    needs = ("setup", "classes", "losses", "boosting", "hyperparameters", "evaluations")
    per_model = True
    sign: ClassVar[Mapping[str, str]] = {
        "class_weights*": "loss_input",
        "monitor*": "setup",
        "part_of_data*": "data",
        "schedule*": "setup",
        "same_state*": "setup",
        "remade*": "setup",
        "early_stopping*": "setup",
        "few_rounds*": "setup",
        "stops_on_trained*": "setup",
        "few_leaves*": "setup",
        "unsplit*": "loss_input",
        "uphill*": "loss_input",
        "uncensored*": "loss_input",
        "ungrouped*": "data",
        "constrained*": "setup",
        "recoded*": "data",
        "rescaled*": "data",
        "readapted*": "data",
        "torn_edges*": "data",
        "trained_before*": "data",
        "unfitted*": "data",
        "split_edges*": "data",
        "reshuffled*": "metric",
        "other_order*": "data",
        "changed_by_reading*": "data",
        "torn_pairs*": "data",
        "crossed_rows*": "data",
        "no_offset*": "data",
        "across*": "data",
        "other_range*": "data",
        "pads_targets*": "loss_input",
        "reshaped*": "loss_input",
        "no_end*": "loss_input",
        "turned*": "loss_input",
        "temperature*": "loss_input",
        "same_views*": "data",
        "unpaired*": "loss_input",
        "posterior*": "loss_input",
        "not_cumulative*": "data",
        "other_noise*": "data",
        "swapped_noise*": "data",
        "constant_penalty*": "loss_input",
        "unused_penalty*": "loss_input",
        "masks_nothing*": "data",
        "moved_inputs*": "data",
        "metric*": "metric",
        "*": "mode",
    }
    lacks = NotApplicable("nothing was set up in a way that may be a mistake")

    looks: int = parameter(2, "Looks in a row, at every 10th step.", at_least=1)
    labels: int = parameter(100, "Judge weights of classes by so many labels.", at_least=1)
    rounds: int = parameter(10, "Judge boosting without a split after so many rounds.", at_least=1)

    def begin(self) -> None:
        self._counts: dict[tuple[str, str], npt.NDArray[np.int64]] = {}
        # Of normalizations whose statistics hardly move: the share that is new, by worker and name.
        self._slow: dict[tuple[str, str], float] = {}
        self._first_step = self._last_step = -1
        self._boosting = Boosting(self, self.rounds)
        self._posteriors = Posteriors(self)

    def check(self, step: StepView) -> Findings:
        yield from self._readapted(step)
        yield from self._recoded(step)
        yield from self._rescaled(step)
        yield from self._part_of_data(step)
        yield from self._helpers(step)
        if not step.trains:
            return
        self._last_step = step.mode_step
        if self._first_step < 0:
            self._first_step = step.mode_step
        held = [record.layout.rows_of for record in step.records]
        has_setup = any("setup" in one for one in held)
        self._evaluated |= has_setup
        if has_setup:
            yield from self._objects(step)
        yield from self._posteriors.check(step)
        if has_setup or any("classes" in one for one in held):
            yield from self._class_weights(step)
        if any("boosting" in one for one in held):
            yield from self._scaled_positives(step)
            yield from self._boosting.check(step)
            self._evaluated |= self._boosting.is_judged

    def _objects(self, step: StepView) -> Findings:
        yield from self._repeated(step)
        yield from self._unseparated(step)
        yield from self._layers(step)
        yield from self._confused(step)
        yield from self._cold(step)
        yield from self._flat(step)
        yield from self._momentum(step)
        yield from self._uncalled(step)
        yield from self._monitored(step)
        yield from self._scheduled(step)
        yield from self._repeats(step)
        yield from self._remade(step)
        yield from self._metrics(step)

    def _repeated(self, step: StepView) -> Findings:
        for group in prefixed(step, "setup", f"{_PREFIX}repeated/"):
            names = [name.removeprefix(f"{_PREFIX}repeated/") for name in group.names]
            places = group.quantity("mean")
            yield self.finding(
                step,
                group[0],
                f"one layer stands at {number(places[0])} places of {names[0]}"
                + (f", and so in {listed(names[1:])}" if names[1:] else "")
                + ": there is only one of it, with one set of weights",
                condition="repeated",
                value=float(places[0]),
                threshold=1.0,
                worker=group.record.worker,
                remedy="make each layer anew: ModuleList([make() for _ in range(n)]), or"
                " copy.deepcopy(layer); if the weights are shared on purpose, call it in a loop",
            )

    def _unseparated(self, step: StepView) -> Findings:
        """Judge what has no activation between it: it is odd (1) or may be meant (0.5)."""
        for group in prefixed(step, "setup", f"{_PREFIX}linear/"):
            worker, odd = group.record.worker, group.quantity("mean")
            for is_odd in (True, False):
                chosen = np.flatnonzero((odd == 1) == is_odd).tolist()
                if not self.persists(("linear", worker, is_odd), len(chosen), self.looks):
                    continue
                pairs = [group.names[one].removeprefix(f"{_PREFIX}linear/") for one in chosen]
                between = listed([" and ".join(pair.split(">")) for pair in pairs])
                yield self.finding(
                    step,
                    group.where(chosen)[0],
                    f"no activation between {between}: two linear layers in a row can do no more"
                    " than one",
                    condition="linear" if is_odd else "linear pair",
                    value=float(len(pairs)),
                    threshold=0.0,
                    worker=worker,
                    severity="warning" if is_odd else "info",
                    remedy="put an activation such as ReLU between them, or make them one layer",
                )

    def _layers(self, step: StepView) -> Findings:
        for condition, (what, remedy) in _LAYERS.items():
            prefix = f"{_PREFIX}{condition}/"
            for group in prefixed(step, "setup", prefix):
                names = [name.removeprefix(prefix) for name in group.names]
                looks = 1 if condition in _LOOKED_AT_BEFORE else self.looks
                if self.persists((condition, group.record.worker), True, looks):
                    yield self.finding(
                        step,
                        group[0],
                        f"{listed(names)}: {what}",
                        condition=condition,
                        value=float(len(names)),
                        threshold=0.0,
                        worker=group.record.worker,
                        remedy=remedy,
                    )

    def _confused(self, step: StepView) -> Findings:
        """Judge what was taken in place of something else, by the names of both."""
        for condition, (what, remedy) in _CONFUSED.items():
            prefix = f"{_PREFIX}{condition}/"
            for group in prefixed(step, "setup", prefix):
                # It was looked at many steps before it is said.
                if not self.persists((condition, group.record.worker), True, 1):
                    continue
                pairs = [name.removeprefix(prefix).split(">") for name in group.names]
                tables = list(dict.fromkeys(table for table, _ in pairs))
                rows = float(group.quantity("mean")[0])
                yield self.finding(
                    step,
                    group[0],
                    what.format(listed(tables), pairs[0][1], rows=number(rows)),
                    condition=condition,
                    value=rows,
                    worker=group.record.worker,
                    remedy=remedy,
                )

    def _cold(self, step: StepView) -> Findings:
        """Judge logits that are cosines times a number, by the least loss that they allow."""
        prefix = f"{_PREFIX}temperature/"
        for group in prefixed(step, "setup", prefix):
            if not self.persists(("temperature", group.record.worker), True, self.looks):
                continue
            classes, _, scale = group.names[0].removeprefix(prefix).partition(">")
            share = float(group.quantity("mean")[0])
            guess = math.log(int(classes))
            yield self.finding(
                step,
                group[0],
                f"logits are cosines times {scale}, and so lie between -{scale} and {scale}:"
                f" whatever is learnt, the cross-entropy over {classes} cannot fall below"
                f" {number(share * guess)}, and a guess has ln({classes}) = {number(guess)}",
                condition="temperature",
                value=share,
                worker=group.record.worker,
                remedy="divide cosine similarities by the temperature, as by 0.07, and do not"
                " multiply by it; or learn a scale that begins at 10 to 20",
            )

    def _flat(self, step: StepView) -> Findings:
        """Judge second derivatives, of which it is known how many elements are not zero."""
        for group in prefixed(step, "setup", _SECOND):
            worker, tensor = group.record.worker, group[0]
            counts = group.quantity("mean")
            if self.persists(("second_derivative", worker), (counts == 0).all(), self.looks):
                kinds = tensor.name.removeprefix(_SECOND).replace("+", " and ")
                yield self.finding(
                    step,
                    tensor,
                    "second derivatives are exactly zero in all elements,"
                    f" {in_a_row(self.looks, 'look')} up to step {step.train_step}: {kinds} is"
                    " piecewise linear, and the derivative of its derivative is zero everywhere, so"
                    " that a loss of them, as the residual of a differential equation, teaches the"
                    " model nothing",
                    condition="second_derivative",
                    value=0.0,
                    worker=worker,
                    remedy="take a smooth activation, such as Tanh, SiLU, GELU, Softplus or a sine",
                )

    def _momentum(self, step: StepView) -> Findings:
        for group in prefixed(step, "setup", f"{_PREFIX}momentum/"):
            worker, found = group.record.worker, group.quantity("mean")
            names = [name.removeprefix(f"{_PREFIX}momentum/") for name in group.names]
            is_slow = (found > 0) & (found < SLOW)
            for index in np.flatnonzero(is_slow).tolist():
                self._slow[worker, names[index]] = float(found[index])
            for is_none in (True, False):
                chosen = np.flatnonzero(((found == 0) == is_none) & ~is_slow)
                if not self.persists(("momentum", worker, is_none), len(chosen), self.looks):
                    continue
                some = group.where(chosen.tolist())
                share = float(found[chosen[0]])
                what = (
                    "nothing of a batch, so that they stay what they were at first"
                    if is_none
                    else f"{number(100 * share)}% of each batch, so that they are those of the last"
                )
                yield self.finding(
                    step,
                    some[0],
                    f"the running statistics of {listed([names[one] for one in chosen])} take"
                    f" {what}: the model is evaluated with them",
                    condition=f"momentum {'none' if is_none else 'all'}",
                    value=share,
                    worker=worker,
                    severity="info" if share == 1 else "warning",
                    remedy=_MOMENTUM,
                )

    def finish(self) -> Findings:
        yield from self._boosting.finish()
        steps = self._last_step - self._first_step + 1
        by_worker: dict[str, list[str]] = {}
        for (worker, name), share in self._slow.items():
            if steps >= MIN_STEPS and (1 - share) ** steps > KEPT:
                by_worker.setdefault(worker, []).append(name)
        for worker, names in by_worker.items():
            share = self._slow[worker, names[0]]
            kept = (1 - share) ** steps
            yield self.finding(
                self._last_step,
                f"{_PREFIX}momentum/{names[0]}",
                f"the running statistics of {listed(names)} take {number(100 * share)}% of each"
                f" batch: after {steps} TRAIN steps {kept:.0%} of them is still what a new layer"
                " has, and the model is evaluated with them",
                condition="momentum slow",
                mode="TRAIN",
                worker=worker,
                value=kept,
                threshold=KEPT,
                remedy=_MOMENTUM,
            )

    def _uncalled(self, step: StepView) -> Findings:
        for group in prefixed(step, "setup", f"{_PREFIX}uncalled/"):
            names = [name.removeprefix(f"{_PREFIX}uncalled/") for name in group.names]
            if self.persists(("uncalled", group.record.worker), True, self.looks):
                are, they = ("is", "it has") if len(names) == 1 else ("are", "they have")
                yield self.finding(
                    step,
                    group[0],
                    f"{listed(names)} {are} part of the model and never called, so that {they} no"
                    f" weights, up to step {step.train_step}",
                    condition="uncalled",
                    worker=group.record.worker,
                    value=float(len(names)),
                    threshold=0.0,
                    remedy="call it in the call() of the model, on the way to the loss, or take it"
                    " away",
                )

    def _readapted(self, step: StepView) -> Findings:
        for group in prefixed(step, "evaluations", _READAPTED):
            for tensor in group:
                now, before = tensor.name.removeprefix(_READAPTED).split("/")
                self._evaluated = True
                yield self.finding(
                    step,
                    tensor,
                    f"the model was trained on ids by {before} and is given those by {now}, which"
                    f" was adapted on other data: {tensor.scalar:.0%} of the words that both know"
                    " have another id there",
                    condition=f"readapted {now}",
                    value=tensor.scalar,
                    remedy="adapt one layer, on the training data, and call the same one on all"
                    " that the model is given, or put it into the model",
                )

    def _recoded(self, step: StepView) -> Findings:
        """Judge categories that the script numbered once more for what it evaluates."""
        for group in prefixed(step, "evaluations", _RECODED):
            worker = group.record.worker
            rest = [name.removeprefix(_RECODED) for name in group.names]
            column, example = rest[0].split("/")
            before, now = step.scalars(
                (f"{_RECODED_BEFORE}{rest[0]}", f"{_RECODED_NOW}{rest[0]}"), worker
            )
            self._evaluated = True
            yield self.finding(
                step,
                group[0],
                f"the categories of {listed([one.partition('/')[0] for one in rest])} were given"
                " codes for training, and anew for the data that are evaluated: of"
                f" {column} {example!r} is {number(before)} in training and {number(now)} in"
                f" evaluation, and {group[0].scalar:.0%} of the categories that both have changed"
                " their code",
                condition=f"recoded {column}",
                value=group[0].scalar,
                worker=worker,
                remedy="make the codes once, on the training data, and look up those of all other"
                " data in them: encoder.fit(train) and then encoder.transform(test), or"
                " pd.Categorical(test, categories=categories_of_train).codes",
            )

    def _rescaled(self, step: StepView) -> Findings:
        """Judge scalers that the script fitted once more to what it evaluates."""
        for group in prefixed(step, "evaluations", _RESCALED):
            for tensor in group:
                rest = tensor.name.removeprefix(_RESCALED)
                scaler, feature = rest.split("/")
                ratio = step.scalar(f"{_RESCALED_RATIO}{rest}", tensor.worker)
                self._evaluated = True
                yield self.finding(
                    step,
                    tensor,
                    f"a {scaler} was fitted to the training data, and one again to the data that"
                    f" are evaluated: the center of feature {feature} is"
                    f" {number(tensor.scalar)} of its scales in training away, and its scale is"
                    f" {number(ratio)} times as large, so that one value is two numbers",
                    condition=f"rescaled {scaler}",
                    value=tensor.scalar,
                    remedy="fit it once, to the training data, and give all other data to"
                    " transform(): scaler.fit_transform(train), then scaler.transform(test)",
                )

    def _helpers(self, step: StepView) -> Findings:
        """Judge helpers of other packages that prepare data otherwise than these are."""
        for condition, (what, remedy) in _HELPERS.items():
            for group in prefixed(step, "evaluations", f"evaluation/{condition}/"):
                self._evaluated = True
                yield self.finding(
                    step,
                    group[0],
                    what.format(group.names[0].rpartition("/")[2]),
                    condition=condition,
                    remedy=remedy,
                )

    def _part_of_data(self, step: StepView) -> Findings:
        """Judge a trainer that took the same few batches for all data, for a model that is used."""
        for group in prefixed(step, "evaluations", _PART):
            given = {one.name.removeprefix(_PART): one.scalar for one in group}
            option = group.names[0].removeprefix(_PART).partition("/")[0]
            used, all_, epochs = (
                given.get(f"{option}/{name}", math.nan)
                for name in ("num_batches", "num_all", "num_epochs")
            )
            self._evaluated = True
            if not (used <= MOST_PART[option] * all_ and epochs >= PART_EPOCHS):
                continue
            yield self.finding(
                step,
                group[0],
                f"{option} of the Trainer let it take {number(used)} of {number(all_)} batches of"
                f" its training data, the same in all of {number(epochs)} epochs, and the model is"
                " evaluated on other data then: it learnt these few by heart",
                condition="part_of_data",
                value=used / all_,
                threshold=MOST_PART[option],
                remedy=f"take {option} away, which is for trying out whether a model can learn",
            )

    def _monitored(self, step: StepView) -> Findings:
        for group in prefixed(step, "setup", f"{_PREFIX}monitor/"):
            for tensor in group:
                callback, _, monitored = tensor.name.removeprefix(f"{_PREFIX}monitor/").partition(
                    "/"
                )
                ought = direction(monitored)
                if not ought or tensor.scalar * ought > 0:
                    continue
                mode, way = ("mode='min'", "rise") if ought > 0 else ("mode='max'", "fall")
                right = f"mode='{'max' if ought > 0 else 'min'}'"
                if callback == "TrainingArguments":
                    mode, right = (f"greater_is_better={one}" for one in (ought < 0, ought > 0))
                yield self.finding(
                    step,
                    tensor,
                    f"{callback} takes {'less' if ought > 0 else 'more'} of {monitored} for better"
                    f" ({mode}), which ought to {way}: the worst is kept for the best",
                    condition=f"monitor {callback}",
                    value=tensor.scalar,
                    threshold=float(ought),
                    remedy=f"give {callback} {right}",
                )

    def _repeats(self, step: StepView) -> Findings:
        """Judge functions of JAX that were given the same again and again."""
        for condition, (given, what, remedy) in _REPEATS.items():
            prefix = f"{_PREFIX}{condition}/"
            for group in prefixed(step, "setup", prefix):
                name, count = group.names[0].removeprefix(prefix), int(group[0].scalar)
                began = (max(0, at - count + 1) for at in step.at)
                yield self.finding(
                    step,
                    group[0],
                    f"function {name} was given the same {given}, {in_a_row(count, 'step')}, up to"
                    f" step {step.train_step}: {what}",
                    condition=f"{condition} {name}",
                    onset=StepNumber(*began),
                    value=float(count),
                    threshold=1.0,
                    worker=group.record.worker,
                    remedy=remedy,
                )

    def _remade(self, step: StepView) -> Findings:
        """Judge optimizers that begin anew in each epoch, for weights that are trained on."""
        for group in prefixed(step, "setup", _REMADE):
            for tensor in group:
                count = int(tensor.scalar)
                if not self.persists((tensor.name, tensor.worker), True, 1):
                    continue
                yield self.finding(
                    step,
                    tensor,
                    f"the optimizer was made anew in {count} epochs in a row, up to step"
                    f" {step.train_step}, for weights that {tensor.name.removeprefix(_REMADE)}"
                    " trains on: its moments begin at zero each time, and so does the count of a"
                    " schedule, so that a warm-up begins again",
                    condition="remade",
                    value=float(count),
                    threshold=1.0,
                    remedy="make the optimizer once, before the loop over epochs, and pass it on"
                    " with what it keeps: in JAX return opt_state with the parameters, in Keras"
                    " call compile() once",
                )

    def _scheduled(self, step: StepView) -> Findings:
        """Judge schedules of which it is known before when they are over."""
        for group in prefixed(step, "setup", _ENDS):
            for tensor in group:
                name, worker = tensor.name.removeprefix(_ENDS), tensor.worker
                total, left = step.scalars((f"{_TOTAL}{name}", f"{_LEFT}{name}"), worker)
                yield self.finding(
                    step,
                    tensor,
                    f"{name} comes to its end within {number(tensor.scalar)} of {number(total)}"
                    f" steps: from there on the learning rate is {number(left)} of what it is at"
                    " first",
                    condition=f"schedule {name}",
                    value=tensor.scalar / total,
                    threshold=1.0,
                    worker=worker,
                    remedy="schedules count steps of the optimizer, not epochs: multiply boundaries"
                    " and decay_steps by the steps of an epoch",
                )

    def _metrics(self, step: StepView) -> Findings:
        for group in prefixed(step, "setup", f"{_PREFIX}metric/"):
            for tensor in group:
                kind, _, metric = tensor.name.removeprefix(f"{_PREFIX}metric/").partition("/")
                share = tensor.scalar
                fits = kind not in METRICS or not share < 0.5
                if not self.persists((tensor.name, group.record.worker), not fits, self.looks):
                    continue
                why, remedy = METRICS[kind]
                yield self.finding(
                    step,
                    tensor,
                    f"the metric {metric} {why}",
                    condition=f"metric {metric}",
                    value=share,
                    threshold=0.5,
                    severity="info" if kind == "rows" else "warning",
                    remedy=remedy,
                )

    def _class_weights(self, step: StepView) -> Findings:
        for record, loss in summaries(step, "class_count/"):
            key, counts = (record.worker, loss), record.raw[f"class_count/{loss}"].astype(np.int64)
            known = self._counts.get(key)
            same = known is not None and known.shape == counts.shape
            self._counts[key] = counts + known if same and known is not None else counts
        for record, loss in summaries(step, f"{_PREFIX}class_weight/"):
            weights = record.raw[f"{_PREFIX}class_weight/{loss}"].astype(np.float64)
            total = self._counts.get((record.worker, loss))
            if total is None or total.shape != weights.shape or total.sum() < self.labels:
                continue
            if follows_counts(weights, total):
                yield self._weights_found(step, record, loss, weights, total)

    def _scaled_positives(self, step: StepView) -> Findings:
        """Judge what boosting weighs the second of two classes by, where its training begins."""
        for record, data in summaries(step, "class_count/"):
            counts = record.raw[f"class_count/{data}"].astype(np.int64)
            (weight,) = step.scalars((_SCALE,), record.worker)
            weights = np.array([1.0, weight])
            if counts.shape != weights.shape or not follows_counts(weights, counts):
                continue
            which, way = ("rarer", "down") if weight < 1 else ("more frequent", "up")
            yield self.finding(
                step,
                _SCALE,
                f"scale_pos_weight={number(weight)} weighs class 1 {way}, which is the {which} one:"
                f" of {counts.sum()} labels of {data} it has {counts[1]}, and class 0 {counts[0]}",
                condition="class_weights scale_pos_weight",
                worker=record.worker,
                value=weight,
                threshold=1.0,
                remedy="take negatives / positives, here"
                f" {number(counts[0] / counts[1])}, or leave it at 1",
            )

    def _weights_found(
        self,
        step: StepView,
        record: StepRecord,
        loss: str,
        weights: Floats,
        counts: npt.NDArray[np.int64],
    ) -> Finding:
        most = int(counts.argmax())
        judged = np.where((counts >= MIN_LABELS) & (weights > 0), counts, counts[most])
        least = int(judged.argmin())
        return self.finding(
            step,
            f"{_PREFIX}class_weight/{loss}",
            f"the weights of classes of {loss} rise with how often these occur: class {most}, with"
            f" {counts[most]} labels, weighs {number(weights[most])}, and class {least}, with"
            f" {counts[least]}, {number(weights[least])}",
            condition=f"class_weights {loss}",
            worker=record.worker,
            value=float(weights[most] / weights[least]),
            threshold=1.0,
            remedy="weigh classes by the inverse of how often they occur:"
            " samples / (classes * count)",
        )


def follows_counts(weights: Floats, counts: npt.NDArray[np.int64]) -> bool:
    """Return whether weights of classes rise with how often these occur.

    Args:
        weights: Shape ``[classes]``.
        counts: Labels of each, of the same shape.
    """
    chosen = (counts >= MIN_LABELS) & (weights > 0) & np.isfinite(weights)
    if chosen.sum() < 2:
        return False
    x, y = np.log(counts[chosen].astype(np.float64)), np.log(weights[chosen])
    if np.ptp(x) < np.log(UNEVEN) or np.ptp(y) < np.log(WEIGHTED):
        return False
    exponent = float(np.cov(x, y, bias=True)[0, 1] / x.var())
    if len(x) == 2:
        return NEAR_ONE[0] <= exponent <= NEAR_ONE[1]
    return exponent >= EXPONENT and float(np.corrcoef(x, y)[0, 1]) >= FOLLOWS
