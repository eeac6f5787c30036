#!/usr/bin/env python3
"""Makes the models of this folder: random weights, and what Hugging Face's transformers computes with them in double precision.

  pip install torch transformers safetensors
  make.py OUT [--seed 1] [--only NAME ...]

The models in the tree were made by torch 2.15, transformers 5.24 and seed 1. Each folder OUT/NAME has
  config.json           as transformers writes it
  model.safetensors     weights, rounded to BF16, by transformers' names
  expected.json         prompts and the greedy continuation of each, as token ids
  expected.safetensors  logits.P (steps, vocabulary), f32, of prompt P; hidden.P.L (tokens, width), f32, what enters layer L, and after
                        the last one what leaves the final norm; of mamba2, what leaves layer L
The weights are what the file holds: transformers computes with the rounded ones, in float64.
"""
import argparse, json, os
import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

BASE = dict(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            head_dim=32, max_position_embeddings=64, bos_token_id=0, eos_token_id=1, pad_token_id=2)
TOKENS = ('bos_token_id', 'eos_token_id', 'pad_token_id')
FEW_HEADS = dict(num_attention_heads=2, num_key_value_heads=1)
MODELS = {
    'llama': ('llama', dict(BASE)),
    'llama_linear': ('llama', dict(BASE, num_hidden_layers=1, tie_word_embeddings=True,
                                   rope_parameters=dict(rope_type='linear', rope_theta=10000.0, factor=4.0))),
    'llama_llama3': ('llama', dict(BASE, num_hidden_layers=1, attention_bias=True,
                                   rope_parameters=dict(rope_type='llama3', rope_theta=500.0, factor=8.0, low_freq_factor=1.0,
                                                        high_freq_factor=4.0, original_max_position_embeddings=32))),
    # Of its MLP, widths are no multiples of 16, as of the experts of qwen3_moe.
    'llama_yarn': ('llama', dict(BASE, num_hidden_layers=1, intermediate_size=40, mlp_bias=True,
                                 rope_parameters=dict(rope_type='yarn', rope_theta=500.0, factor=4.0, original_max_position_embeddings=16,
                                                      beta_fast=4.0, beta_slow=0.5))),
    'one_token': ('llama', dict(BASE, num_hidden_layers=1)),
    'qwen3': ('qwen3', dict(BASE)),
    'gemma2': ('gemma2', dict(BASE, query_pre_attn_scalar=32, sliding_window=8, attn_logit_softcapping=2.0, final_logit_softcapping=2.0)),
    'gemma3': ('gemma3_text', dict(BASE, **FEW_HEADS, query_pre_attn_scalar=32, sliding_window=8, num_hidden_layers=3,
                                   layer_types=['sliding_attention', 'full_attention', 'sliding_attention'])),
    'mixtral': ('mixtral', dict(BASE, **FEW_HEADS, num_local_experts=4, num_experts_per_tok=2, intermediate_size=32)),
    'qwen3_moe': ('qwen3_moe', dict(BASE, **FEW_HEADS, num_experts=8, num_experts_per_tok=3, moe_intermediate_size=24, norm_topk_prob=True)),
    'gpt_oss': ('gpt_oss', dict(BASE, **FEW_HEADS, num_local_experts=8, num_experts_per_tok=2, intermediate_size=16, sliding_window=8,
                                swiglu_limit=1.0, max_position_embeddings=131072)),
    'glm4_moe': ('glm4_moe', dict(BASE, **FEW_HEADS, n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=16, n_shared_experts=1,
                                  n_group=1, topk_group=1, first_k_dense_replace=1, routed_scaling_factor=1.5, use_qk_norm=True,
                                  attention_bias=True)),
    'deepseek_v3': ('deepseek_v3', dict({k: v for k, v in BASE.items() if k != 'head_dim'}, num_attention_heads=2, num_key_value_heads=2,
                                        q_lora_rank=16, kv_lora_rank=128, qk_nope_head_dim=32, qk_rope_head_dim=64, v_head_dim=32,
                                        n_routed_experts=8, num_experts_per_tok=2, n_group=4, topk_group=2, moe_intermediate_size=16,
                                        n_shared_experts=2, first_k_dense_replace=1,
                                        rope_parameters=dict(rope_type='yarn', rope_theta=500.0, factor=4.0, mscale=0.8, mscale_all_dim=1.2,
                                                             original_max_position_embeddings=16, beta_fast=4.0, beta_slow=0.5))),
    # Prompts of more tokens than index_topk: later tokens see some of those before them.
    'deepseek_v32': ('deepseek_v32', dict({k: v for k, v in BASE.items() if k != 'head_dim'}, num_attention_heads=2, num_key_value_heads=2,
                                          q_lora_rank=16, kv_lora_rank=96, qk_nope_head_dim=32, qk_rope_head_dim=32, v_head_dim=32,
                                          n_routed_experts=8, num_experts_per_tok=2, n_group=2, topk_group=1, moe_intermediate_size=16,
                                          n_shared_experts=1, first_k_dense_replace=1, index_topk=6, index_n_heads=16, index_head_dim=128)),
    'qwen3_next': ('qwen3_next', dict(BASE, **FEW_HEADS, num_hidden_layers=3,
                                      layer_types=['linear_attention', 'full_attention', 'linear_attention'], mlp_only_layers=[1],
                                      linear_num_key_heads=1, linear_num_value_heads=2, linear_key_head_dim=128, linear_value_head_dim=16,
                                      num_experts=8, num_experts_per_tok=3, moe_intermediate_size=16, shared_expert_intermediate_size=24)),
    'kimi_linear': ('kimi_linear', dict({k: v for k, v in BASE.items() if k != 'head_dim'}, num_attention_heads=2, num_key_value_heads=2,
                                        layer_types=['linear_attention', 'full_attention'],
                                        linear_num_heads=1, linear_head_dim=128, kv_lora_rank=128, qk_nope_head_dim=32, qk_rope_head_dim=64,
                                        v_head_dim=32, num_local_experts=8, num_experts_per_tok=2, moe_intermediate_size=16,
                                        mlp_layer_types=['dense', 'sparse'])),
    'minimax_m2': ('minimax_m2', dict(BASE, num_local_experts=8, num_experts_per_tok=3, intermediate_size=16,
                                      rope_parameters=dict(rope_type='default', rope_theta=5000.0, partial_rotary_factor=0.5))),
    'mamba2': ('mamba2', dict({k: BASE[k] for k in ('vocab_size', 'hidden_size', 'num_hidden_layers', *TOKENS)}, num_heads=4, head_dim=16,
                              state_size=128, n_groups=2, chunk_size=8, time_step_limit=(0.25, 1.0))),
    'nemotron_h': ('nemotron_h', dict({k: v for k, v in BASE.items() if k != 'num_hidden_layers'}, **FEW_HEADS,
                                      layers_block_type=['linear_attention', 'mlp', 'full_attention', 'linear_attention'], ssm_state_size=64,
                                      mamba_num_heads=2, mamba_head_dim=16, n_groups=1, chunk_size=8)),
    'nemotron_h_moe': ('nemotron_h', dict({k: v for k, v in BASE.items() if k != 'num_hidden_layers'}, **FEW_HEADS,
                                          layers_block_type=['linear_attention', 'moe', 'full_attention', 'moe'], ssm_state_size=64,
                                          mamba_num_heads=2, mamba_head_dim=16, n_groups=1, chunk_size=8, n_routed_experts=8,
                                          num_experts_per_tok=3, n_group=2, topk_group=1, moe_intermediate_size=16, moe_latent_size=16,
                                          moe_shared_expert_intermediate_size=48, routed_scaling_factor=1.5)),
}
PROMPT_LENGTHS, STEPS = {'one_token': (1, 1)}, 4


def randomise(model, generator, tied):
    """Weights that keep activations near one, so that softmaxes, gates and routers are not flat."""
    for name, p in list(model.named_parameters()) + list(model.named_buffers()):
        last = name.rsplit('.', 1)[-1]
        if not p.is_floating_point() or p.numel() == 0 or 'inv_freq' in name or 'embed_scale' in name:
            continue
        if last == 'A_log':
            with torch.no_grad():
                p.copy_(p.to(torch.bfloat16).to(p.dtype))
            continue
        r = torch.randn(p.shape, generator=generator, dtype=torch.float64)
        if p.dim() >= 2:
            fan = p.shape[1] if p.dim() == 3 and 'experts' in name and 'gpt' in type(model).__name__.lower() else p.shape[-1]
            r *= 1.0 if 'embed' in name and not tied else fan ** -0.5
        elif 'norm' in name and last == 'weight':
            r = 0.1 * r + (0.0 if p.detach().abs().sum() == 0 else 1.0)
        else:
            r *= 0.1
        with torch.no_grad():
            p.copy_(r.to(torch.bfloat16).to(p.dtype))


def make(name, out, seed):
    kind, options = MODELS[name]
    torch.manual_seed(seed)
    config = AutoConfig.for_model(kind, **options)
    config._attn_implementation = config._experts_implementation = 'eager'
    model = AutoModelForCausalLM.from_config(config).double().eval()
    generator = torch.Generator().manual_seed(seed)
    randomise(model, generator, config.tie_word_embeddings)
    folder = os.path.join(out, name)
    os.makedirs(folder, exist_ok=True)
    config.save_pretrained(folder)
    seen, weights = set(), {}
    for k, v in model.state_dict().items():
        if v.data_ptr() not in seen:
            seen.add(v.data_ptr())
            weights[k] = v.to(torch.bfloat16).contiguous() if v.is_floating_point() else v.contiguous()
    save_file(weights, os.path.join(folder, 'model.safetensors'))
    expected, tensors = [], {}
    for number, length in enumerate(PROMPT_LENGTHS.get(name, (19, 5, 1))):
        ids, rows = torch.randint(3, config.vocab_size, (1, length), generator=generator), []
        with torch.no_grad():
            for step in range(STEPS):
                result = model(ids, use_cache=False, output_hidden_states=step == 0)
                if step == 0:
                    for layer, hidden in enumerate(result.hidden_states):
                        tensors[f'hidden.{number}.{layer}'] = hidden[0].float().contiguous()
                rows.append(result.logits[0, -1])
                ids = torch.cat([ids, rows[-1].argmax().view(1, 1)], dim=1)
        tensors[f'logits.{number}'] = torch.stack(rows).float().contiguous()
        expected.append(dict(prompt=ids[0, :length].tolist(), generated=ids[0, length:].tolist()))
    save_file(tensors, os.path.join(folder, 'expected.safetensors'))
    with open(os.path.join(folder, 'expected.json'), 'w') as file:
        json.dump(expected, file)
    for f in os.listdir(folder):
        os.chmod(os.path.join(folder, f), 0o644)
    print(name, sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder)), 'bytes', flush=True)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('out')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', nargs='*', default=list(MODELS))
    options = parser.parse_args()
    for model in options.only:
        make(model, options.out, options.seed)
