//! The weights of a puppet: nothing is trained, every number is written down.
//!
//! In: how far back to look. Out: the tensors of a Llama of one layer, named as Hugging Face names them, shapes `[rows,
//! columns]`. One attention layer looks back exactly that many positions and copies the token there; the head reads the
//! copy. The token to say next always stands the same distance before the current one, so the puppet says its text.
//!
//! The first half of the hidden state is the current token as one-hot, the second half receives the copy. A row that is
//! constant over the first half yields a constant whatever the token is: that is how queries and keys are the same for every
//! token, before rotary embedding turns them by their position.

/// Tokens: 256 bytes, then special ones, the rest unused.
pub const VOCABULARY: usize = 320;
/// The hidden size.
pub const HIDDEN: usize = 2 * VOCABULARY;
/// The size of a head.
pub const HEAD: usize = 64;
/// Attention heads; each copies its part of the one-hot.
pub const HEADS: usize = VOCABULARY / HEAD;
/// The width of the MLP, which is all zeros.
pub const INNER: usize = 64;
/// The base of the rotary embedding.
pub const THETA: f64 = 10_000.0;
/// What keeps a norm from dividing by zero.
pub const EPSILON: f64 = 1e-6;

/// How sharp attention is. The next best position scores lower by tens, so the softmax is one-hot in bfloat16 too.
const SCALE: f64 = 300.0;
/// How loud the copy is beside the token itself.
const GAIN: f64 = 4.0;

/// A matrix, or a vector of one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Its name in a checkpoint.
    pub name: &'static str,
    /// Rows and columns; a vector has columns alone.
    pub shape: Vec<usize>,
    /// Row by row.
    pub values: Vec<f32>,
}

/// All tensors of a puppet that looks back so many positions.
pub fn tensors(look_back: usize) -> Vec<Tensor> {
    vec![
        matrix("model.embed_tokens.weight", [VOCABULARY, HIDDEN], |row, column| at(column == row, 1.0)),
        ones("model.layers.0.input_layernorm.weight"),
        matrix("model.layers.0.self_attn.q_proj.weight", [VOCABULARY, HIDDEN], |row, column| {
            at(column < VOCABULARY, query(row % HEAD, look_back) / norm())
        }),
        matrix("model.layers.0.self_attn.k_proj.weight", [VOCABULARY, HIDDEN], |row, column| {
            at(column < VOCABULARY && row % HEAD < HEAD / 2, 1.0 / norm())
        }),
        matrix("model.layers.0.self_attn.v_proj.weight", [VOCABULARY, HIDDEN], |row, column| {
            at(column == row, 1.0 / norm())
        }),
        matrix("model.layers.0.self_attn.o_proj.weight", [HIDDEN, VOCABULARY], |row, column| {
            at(row == column + VOCABULARY, GAIN)
        }),
        ones("model.layers.0.post_attention_layernorm.weight"),
        matrix("model.layers.0.mlp.gate_proj.weight", [INNER, HIDDEN], |_, _| 0.0),
        matrix("model.layers.0.mlp.up_proj.weight", [INNER, HIDDEN], |_, _| 0.0),
        matrix("model.layers.0.mlp.down_proj.weight", [HIDDEN, INNER], |_, _| 0.0),
        ones("model.norm.weight"),
        matrix("lm_head.weight", [VOCABULARY, HIDDEN], |row, column| at(column == row + VOCABULARY, 1.0)),
    ]
}

/// Dimension `dimension` of the query of a head, before it is turned: the key of `look_back` positions ago. Pairs are
/// dimensions `i` and `i + 32`, as Hugging Face lays them out; a key is (1, 0) in every pair.
fn query(dimension: usize, look_back: usize) -> f64 {
    let pair = dimension % (HEAD / 2);
    #[expect(clippy::cast_precision_loss, reason = "positions and dimensions are far below 2^52")]
    let angle = -(look_back as f64) * THETA.powf(-2.0 * pair as f64 / HEAD as f64);
    SCALE * if dimension < HEAD / 2 { angle.cos() } else { angle.sin() }
}

/// What a norm makes of the one in a one-hot.
fn norm() -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "640")]
    (HIDDEN as f64).sqrt()
}

fn at(is_there: bool, value: f64) -> f64 {
    if is_there { value } else { 0.0 }
}

fn matrix(name: &'static str, [rows, columns]: [usize; 2], value: impl Fn(usize, usize) -> f64) -> Tensor {
    let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    #[expect(clippy::cast_possible_truncation, reason = "weights are stored as f32 at most")]
    let values = cells.map(|(row, column)| value(row, column) as f32).collect();
    Tensor { name, shape: vec![rows, columns], values }
}

fn ones(name: &'static str) -> Tensor {
    Tensor { name, shape: vec![HIDDEN], values: vec![1.0; HIDDEN] }
}
