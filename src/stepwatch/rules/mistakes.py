"""What a script can put together by mistake, by the condition that names it, and what to do.

Each is what ``setup`` says of it, after what it is about, and the remedy.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Of helpers that prepare data: what is wrong with one, and what to do.
HELPERS = {
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
    "folds": (
        "{0} goes on from fold to fold of a cross-validation: what a fold evaluates it was trained"
        " on in those before, and its scores rise from fold to fold",
        "make the model and its optimizer anew for each fold",
    ),
    "changed_by_reading": (
        "reading a sample changes it in {0}: what is done in place to a part of an array is done"
        " to the data, and once more in each epoch",
        "copy what is given before it is changed (x = self.x[i].copy(), or .clone()), or write x ="
        " x - mean in place of x -= mean",
    ),
    "split_anew": (
        "{0} is validated on one part of a data set and trained on another, as by take() and"
        " skip(), after a shuffle that each pass does anew: which samples are in which part changes"
        " from epoch to epoch, and it was trained on what validates it",
        "split before shuffling, or shuffle once: data.shuffle(n, seed=1,"
        " reshuffle_each_iteration=False), and shuffle the part that is trained on again",
    ),
    "stale_variables": (
        "{0} is evaluated by its own variables, which are those of before the training: what it is"
        " trained by is passed to stateless_call, and is not written back",
        "assign what was trained to the variables of the model before evaluate() and predict(), or"
        " evaluate by stateless_call(trained, others, x, training=False)",
    ),
    "turned_quantile": (
        "{0} is the pinball loss of the opposite quantile: its difference is the prediction less"
        " the target, where the factors are for the target less the prediction: told to learn the"
        " quantile 0.9, a model learns 0.1",
        "write error = target - prediction, with maximum(q * error, (q - 1) * error)",
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
REPEATS = {
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
LAYERS = {
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
    "blank_targets": (
        "targets are of the class that it takes for the gaps between labels (blank): they are never"
        " told from gaps, and the loss can fall below what is possible",
        "number the labels from 1 on and leave 0 to the gaps, or give the class that is for them:"
        " CTCLoss(blank=num_labels); decode by the same",
    ),
    "cut_off": (
        "every example is as long as the most that is kept of one, and what is to be learnt of it"
        " is cut off before the token that ends it: the rest, as an answer, is never learnt",
        "raise the most tokens that are kept of an example (max_length), or shorten what comes"
        " before the answer",
    ),
    "no_end": (
        "the targets are the next tokens, and what ends a sample is never one: the last token"
        " before the padding has a target that does not count: the model never learns to stop",
        "let one target after the last token count: the sign of an end, such as <eos> or <stop>",
    ),
    "ignored_ends": (
        "the targets that count are the beginning of each text, and its end is ignored, which"
        " varies from text to text: where a prompt comes first, the model learns the prompts and"
        " never the answers",
        "keep the labels of the answer and set those of the prompt to be ignored, as by"
        " labels[:, :prompt_length] = -100",
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
    "masked_extreme": (
        "all that it takes is what a mask has set to zero: what is left out by a product is 0, and"
        " that is the smallest of distances, or the largest of what is negative; the loss compares"
        " with nothing",
        "fill in what is left out: distances.masked_fill(~mask, float('inf')).min(dim=1), and -inf"
        " for max",
    ),
    "unscaled_loss": (
        "it divides gradients by the scale of the loss, and no loss was multiplied by it: steps are"
        " thousands of times too small",
        "scale the loss that gradients are taken of: scaled = optimizer.scale_loss(loss), inside of"
        " the tape, or in the function that JAX differentiates",
    ),
    "dampened": (
        "a step takes next to nothing of a gradient: dampening is large, and momentum next to"
        " none, as where numbers were given by position: SGD(params, lr, momentum, dampening,"
        " weight_decay)",
        "give them by name: torch.optim.SGD(params, lr=0.1, momentum=0.9, weight_decay=5e-4)",
    ),
    "frozen_number": (
        "it was read when the function that trains was compiled, and is a constant in it: the"
        " script has set another one since, as by a schedule, and training goes on with the first",
        "keep it in a variable, as keras.Variable(0.0, trainable=False), tf.Variable(0.0,"
        " trainable=False), with assign(); or pass it to the function as an array: step(params,"
        " batch, jnp.asarray(beta))",
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
    "uniform_noise": (
        "noise that is to be predicted is uniform on 0 to 1, as of rand_like: it has mean 0.5, and"
        " sampling starts from normal noise, of mean 0, which the model has never seen",
        "draw it from a normal distribution, noise = torch.randn_like(x)",
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
    "raw_variable": (
        "it is a variable that its layer holds and Keras does not know, as tf.Variable() or"
        " torch.nn.Parameter() makes one: the optimizer has it not, and it stays as it was drawn",
        "make it by self.add_weight(...) or keras.Variable(...), of which Keras knows",
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
    "drops_most": (
        "it is dropout of four fifths of what it is given, or more: hardly anything of a sample is"
        " left in training",
        "give the share that is dropped, as 0.1 or 0.5, and not the one that is kept",
    ),
    "ignores_training": (
        "it draws at random, and never reads its argument training: what is evaluated and predicted"
        " is changed at random as in training",
        "return the inputs as they are where it does not train: if not training: return inputs",
    ),
    "detached_state": (
        "at each step of a sequence it is given its state without its graph: no gradient goes from"
        " one step to the one before, and nothing is learnt of what lies further back than a step",
        "detach the state once for each backward(), before the first step of a chunk, and not"
        " within its loop",
    ),
    "sample_positions": (
        "it gives each sample the position of its place in the batch, and all tokens of a sample"
        " the same one, as the first axis is that of the samples: attention does not know in which"
        " order they come",
        "add positions along the axis of the tokens, as by x + pe[:, : x.size(1)] with a table of"
        " shape (1, max_len, d_model), or give samples second and no batch_first=True",
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
LOOKED_AT_BEFORE = (
    "cut_off",
    "raw_variable",
    "turned",
    "swapped_noise",
    "uniform_noise",
    "no_offset",
    "reseeded",
    "same_views",
    "unpaired",
    "unfrozen",
    "all_frozen",
    "trained_before",
    "frozen_number",
    "ignored_ends",
    "unscaled_loss",
    "dampened",
)

#: What was taken in place of something else, by both names.
CONFUSED = {
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
    "torn_classes": (
        "{0} is given rows of {rows} scores that are not those of {rows} classes: the scores have"
        " the shape (batch, {1}), with the classes second, and were reshaped to rows of {rows} as"
        " they are, so that neighbouring pixels, or positions, of one class stand in a row for the"
        " classes of one pixel",
        "move the axis of classes last before the reshape, as by"
        " scores.movedim(1, -1).reshape(-1, classes), or give cross_entropy the scores as they are,"
        " (batch, classes, ...), with targets of shape (batch, ...)",
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

#: Which sign of a cause each is; see ``judge.root_cause``.
SIGNS: Mapping[str, str] = {
    "class_weights*": "loss_input",
    "monitor*": "setup",
    "part_of_data*": "data",
    "schedule*": "setup",
    "same_state*": "setup",
    "remade*": "setup",
    "early_stopping*": "setup",
    "few_rounds*": "setup",
    "idle_rounds*": "setup",
    "stops_on_trained*": "setup",
    "few_leaves*": "setup",
    "unsplit*": "loss_input",
    "uphill*": "loss_input",
    "without_sigmoid*": "loss_input",
    "uncensored*": "loss_input",
    "ungrouped*": "data",
    "constrained*": "setup",
    "exposures*": "data",
    "recoded*": "data",
    "rescaled*": "data",
    "readapted*": "data",
    "torn_edges*": "data",
    "trained_before*": "data",
    "unfitted*": "data",
    "split_edges*": "data",
    "reshuffled*": "metric",
    "other_order*": "data",
    "stale_variables*": "mode",
    "turned_quantile*": "loss_input",
    "masked_extreme*": "loss_input",
    "dampened*": "setup",
    "unscaled_loss*": "setup",
    "split_anew*": "data",
    "changed_by_reading*": "data",
    "folds*": "data",
    "torn_pairs*": "data",
    "torn_classes*": "loss_input",
    "crossed_rows*": "data",
    "no_offset*": "data",
    "across*": "data",
    "other_range*": "data",
    "pads_targets*": "loss_input",
    "reshaped*": "loss_input",
    "no_end*": "loss_input",
    "ignored_ends*": "loss_input",
    "cut_off*": "data",
    "blank_targets*": "loss_input",
    "turned*": "loss_input",
    "temperature*": "loss_input",
    "same_views*": "data",
    "unpaired*": "loss_input",
    "posterior*": "loss_input",
    "not_cumulative*": "data",
    "other_noise*": "data",
    "swapped_noise*": "data",
    "uniform_noise*": "data",
    "constant_penalty*": "loss_input",
    "unused_penalty*": "loss_input",
    "masks_nothing*": "data",
    "moved_inputs*": "data",
    "metric*": "metric",
    "*": "mode",
}
