// Cooperative groups as HIP 6 and 7 have them: blocks, grids, tiles of a wave, and the lanes that
// are together. Written from the documentation of HIP's API ("Cooperative groups") for installations
// whose HIP has part of them. Groups of several devices are left out: the launches that they need
// are not there either.
//
// A tile or a coalesced group lies within one wave. Its lanes are a mask of 64 bits; a wave
// of 32 has the low half.
#pragma once

#include <hip/hip_runtime.h>

#if defined(__HIP__) && defined(__clang__)

/// The version of the code object times 100, a constant of the device library.
extern "C" __device__ const __constant__ int __oclc_ABI_version;

namespace cooperative_groups {

using lane_mask = unsigned long long;

namespace impl {
#define FLYDSL_CG __device__ inline __attribute__((always_inline))

FLYDSL_CG unsigned laneOfWave() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}
FLYDSL_CG unsigned waveSize() { return __builtin_amdgcn_wavefrontsize(); }
FLYDSL_CG lane_mask activeLanes() { return __ballot(1); }
FLYDSL_CG lane_mask below(unsigned lane) { return (lane_mask(1) << lane) - 1; }

/// The lane of a mask with `rank` lanes of the mask below it; past the last one, some lane of it.
FLYDSL_CG unsigned laneOfRank(lane_mask mask, unsigned rank) {
  for (unsigned i = 0; i < rank && (mask & (mask - 1)); ++i)
    mask &= mask - 1;
  return static_cast<unsigned>(__builtin_ctzll(mask));
}

/// The value that a lane of the wave has, word by word, whatever its type.
template <class T> FLYDSL_CG T valueOfLane(const T &value, unsigned lane) {
  static_assert(__is_trivially_copyable(T), "a value that is handed over is copied as bytes");
  constexpr unsigned kWords = (sizeof(T) + 3) / 4;
  int words[kWords] = {};
  __builtin_memcpy(words, &value, sizeof(T));
  for (unsigned i = 0; i < kWords; ++i)
    words[i] = __builtin_amdgcn_ds_bpermute(static_cast<int>(lane * 4), words[i]);
  T result;
  __builtin_memcpy(&result, words, sizeof(T));
  return result;
}
template <class T> FLYDSL_CG bool sameBytes(const T &a, const T &b) {
  unsigned char left[sizeof(T)], right[sizeof(T)];
  __builtin_memcpy(left, &a, sizeof(T));
  __builtin_memcpy(right, &b, sizeof(T));
  bool same = true;
  for (unsigned i = 0; i < sizeof(T); ++i)
    same &= left[i] == right[i];
  return same;
}
FLYDSL_CG void syncWave() {
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  __builtin_amdgcn_wave_barrier();
}
FLYDSL_CG unsigned threadOfBlock() {
  return static_cast<unsigned>((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x);
}
FLYDSL_CG unsigned threadsOfBlock() {
  return static_cast<unsigned>(blockDim.x * blockDim.y * blockDim.z);
}

/// The words that HIP's runtime gives a cooperative launch, by a hidden argument (LLVM's
/// AMDGPUUsage, hidden_multigrid_sync_arg); null in any other launch. The word at byte 32 is where
/// blocks arrive.
FLYDSL_CG unsigned *gridWord() {
  const auto *hidden = (const char *)__builtin_amdgcn_implicitarg_ptr();
  unsigned *words;
  __builtin_memcpy(&words, hidden + (__oclc_ABI_version < 500 ? 48 : 88), sizeof words);
  return words ? words + 8 : nullptr;
}
/// A release of device scope. Clang 22 leaves out the wait for the write-back of a cache where the wave
/// has nothing else under way (llvm/llvm-project #178316), so it stands here: s_waitcnt vmcnt(0).
FLYDSL_CG void release() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
#ifdef __GFX9__
  __builtin_amdgcn_s_waitcnt(0x0f70);
#endif
}
/// Each block adds 1 but the first one, which adds what is missing to the highest bit: that bit
/// turns over when all have come, whatever the word was. A launch without the words traps.
FLYDSL_CG void syncGrid() {
  unsigned *const word = gridWord();
  if (!word)
    __builtin_trap();
  release();
  __builtin_amdgcn_s_barrier();
  if (threadOfBlock() == 0) {
    release();
    const unsigned blocks = static_cast<unsigned>(gridDim.x * gridDim.y * gridDim.z);
    const bool first = blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0;
    const unsigned before = __hip_atomic_fetch_add(word, first ? 0x80000000u - (blocks - 1) : 1u,
                                                   __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
    while (!((__hip_atomic_load(word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) ^ before) &
             0x80000000u))
      __builtin_amdgcn_s_sleep(1);
  }
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
}
} // namespace impl

/// What tells the groups of a thread_group apart.
enum class group_kind { grid, block, lanes };

/// Any of the groups below.
class thread_group {
public:
  FLYDSL_CG unsigned size() const;
  FLYDSL_CG unsigned num_threads() const { return size(); }
  FLYDSL_CG unsigned thread_rank() const;
  FLYDSL_CG void sync() const;
  FLYDSL_CG bool is_valid() const {
    return kind_ != group_kind::grid || impl::gridWord() != nullptr;
  }
  FLYDSL_CG group_kind kind() const { return kind_; }

protected:
  FLYDSL_CG explicit thread_group(group_kind kind, lane_mask lanes = 0)
      : kind_(kind), lanes_(lanes) {}
  FLYDSL_CG static thread_group of(lane_mask lanes) {
    return thread_group(group_kind::lanes, lanes);
  }
  friend FLYDSL_CG thread_group tiled_partition(const thread_group &parent, unsigned size);
  group_kind kind_;
  lane_mask lanes_; ///< of a group within a wave
};

/// All threads of the launch, which hipLaunchCooperativeKernel started.
class grid_group : public thread_group {
public:
  FLYDSL_CG unsigned long long size() const { return num_threads(); }
  FLYDSL_CG unsigned long long num_threads() const {
    return static_cast<unsigned long long>(num_blocks()) * impl::threadsOfBlock();
  }
  FLYDSL_CG unsigned long long thread_rank() const {
    return static_cast<unsigned long long>(block_rank()) * impl::threadsOfBlock() +
           impl::threadOfBlock();
  }
  FLYDSL_CG unsigned num_blocks() const {
    return static_cast<unsigned>(gridDim.x * gridDim.y * gridDim.z);
  }
  FLYDSL_CG unsigned block_rank() const {
    return static_cast<unsigned>((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);
  }
  FLYDSL_CG dim3 group_dim() const { return dim3(gridDim.x, gridDim.y, gridDim.z); }
  FLYDSL_CG dim3 dim_blocks() const { return group_dim(); }
  FLYDSL_CG dim3 block_index() const { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  FLYDSL_CG bool is_valid() const { return impl::gridWord() != nullptr; }
  FLYDSL_CG void sync() const { impl::syncGrid(); }

private:
  FLYDSL_CG grid_group() : thread_group(group_kind::grid) {}
  friend FLYDSL_CG grid_group this_grid();
};
FLYDSL_CG grid_group this_grid() { return grid_group(); }

/// All threads of the block.
class thread_block : public thread_group {
public:
  FLYDSL_CG static unsigned size() { return impl::threadsOfBlock(); }
  FLYDSL_CG static unsigned num_threads() { return impl::threadsOfBlock(); }
  FLYDSL_CG static unsigned thread_rank() { return impl::threadOfBlock(); }
  FLYDSL_CG static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  FLYDSL_CG static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  FLYDSL_CG static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
  FLYDSL_CG static dim3 dim_threads() { return group_dim(); }
  FLYDSL_CG static bool is_valid() { return true; }
  FLYDSL_CG static void sync() { __syncthreads(); }

private:
  FLYDSL_CG thread_block() : thread_group(group_kind::block) {}
  friend FLYDSL_CG thread_block this_thread_block();
};
FLYDSL_CG thread_block this_thread_block() { return thread_block(); }

template <unsigned Size, class Parent = void> class thread_block_tile;

/// The lanes of a wave that came here together.
class coalesced_group : public thread_group {
public:
  FLYDSL_CG unsigned size() const { return static_cast<unsigned>(__builtin_popcountll(lanes_)); }
  FLYDSL_CG unsigned num_threads() const { return size(); }
  FLYDSL_CG unsigned thread_rank() const {
    return static_cast<unsigned>(__builtin_popcountll(lanes_ & impl::below(impl::laneOfWave())));
  }
  FLYDSL_CG bool is_valid() const { return true; }
  FLYDSL_CG void sync() const { impl::syncWave(); }
  FLYDSL_CG unsigned meta_group_size() const { return tiles_; }
  FLYDSL_CG unsigned meta_group_rank() const { return tile_; }

  template <class T> FLYDSL_CG T shfl(T value, int rank) const {
    return impl::valueOfLane(value, impl::laneOfRank(lanes_, static_cast<unsigned>(rank) % size()));
  }
  /// Past the group's end a lane keeps its own value.
  template <class T> FLYDSL_CG T shfl_down(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return impl::valueOfLane(value,
                             impl::laneOfRank(lanes_, delta < size() - rank ? rank + delta : rank));
  }
  template <class T> FLYDSL_CG T shfl_up(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return impl::valueOfLane(value, impl::laneOfRank(lanes_, delta <= rank ? rank - delta : rank));
  }
  /// Bit i is the predicate of the lane whose rank is i.
  FLYDSL_CG lane_mask ballot(int predicate) const { return packed(__ballot(predicate)); }
  FLYDSL_CG int any(int predicate) const { return (__ballot(predicate) & lanes_) != 0; }
  FLYDSL_CG int all(int predicate) const { return (__ballot(predicate) & lanes_) == lanes_; }
  template <class T> FLYDSL_CG lane_mask match_any(T value) const {
    lane_mask same = 0, todo = lanes_;
    unsigned rank = 0;
    for (; todo; todo &= todo - 1, ++rank) {
      const T other = impl::valueOfLane(value, static_cast<unsigned>(__builtin_ctzll(todo)));
      same |= lane_mask(impl::sameBytes(value, other)) << rank;
    }
    return same;
  }
  template <class T> FLYDSL_CG lane_mask match_all(T value, int &predicate) const {
    const T first = impl::valueOfLane(value, static_cast<unsigned>(__builtin_ctzll(lanes_)));
    predicate = all(impl::sameBytes(value, first));
    return predicate ? packed(lanes_) : 0;
  }

protected:
  FLYDSL_CG explicit coalesced_group(lane_mask lanes, unsigned tile = 0, unsigned tiles = 1)
      : thread_group(group_kind::lanes, lanes), tile_(tile), tiles_(tiles) {}
  /// The bits of the group's lanes, by rank.
  FLYDSL_CG lane_mask packed(lane_mask wave) const {
    lane_mask result = 0;
    unsigned rank = 0;
    for (lane_mask todo = lanes_; todo; todo &= todo - 1, ++rank)
      result |= (wave >> __builtin_ctzll(todo) & 1) << rank;
    return result;
  }
  unsigned tile_, tiles_;

private:
  friend FLYDSL_CG coalesced_group coalesced_threads();
  friend FLYDSL_CG coalesced_group tiled_partition(const coalesced_group &parent, unsigned size);
  friend FLYDSL_CG coalesced_group binary_partition(const coalesced_group &parent, bool predicate);
  template <unsigned Size, class Parent>
  friend FLYDSL_CG coalesced_group binary_partition(const thread_block_tile<Size, Parent> &parent,
                                                    bool predicate);
};
FLYDSL_CG coalesced_group coalesced_threads() { return coalesced_group(impl::activeLanes()); }

/// `Size` neighbours of a block: a power of two, and at most a wave.
template <unsigned Size, class Parent> class thread_block_tile : public thread_group {
  static_assert(Size && (Size & (Size - 1)) == 0 && Size <= 64,
                "a tile has 1, 2, 4, 8, 16, 32 or 64 threads");

public:
  static constexpr unsigned numThreads = Size;
  FLYDSL_CG static constexpr unsigned size() { return Size; }
  FLYDSL_CG static constexpr unsigned num_threads() { return Size; }
  FLYDSL_CG static unsigned thread_rank() { return impl::laneOfWave() & (Size - 1); }
  FLYDSL_CG static bool is_valid() { return true; }
  FLYDSL_CG static void sync() { impl::syncWave(); }
  FLYDSL_CG unsigned meta_group_size() const { return tiles_; }
  FLYDSL_CG unsigned meta_group_rank() const { return tile_; }

  template <class T> FLYDSL_CG T shfl(T value, int rank) const {
    return impl::valueOfLane(value, first() + (static_cast<unsigned>(rank) & (Size - 1)));
  }
  template <class T> FLYDSL_CG T shfl_down(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return impl::valueOfLane(value, first() + (delta < Size - rank ? rank + delta : rank));
  }
  template <class T> FLYDSL_CG T shfl_up(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return impl::valueOfLane(value, first() + (delta <= rank ? rank - delta : rank));
  }
  template <class T> FLYDSL_CG T shfl_xor(T value, unsigned mask) const {
    const unsigned rank = thread_rank() ^ mask;
    return impl::valueOfLane(value, first() + (rank < Size ? rank : thread_rank()));
  }
  FLYDSL_CG lane_mask ballot(int predicate) const {
    return (__ballot(predicate) & lanes_) >> first();
  }
  FLYDSL_CG int any(int predicate) const { return ballot(predicate) != 0; }
  FLYDSL_CG int all(int predicate) const { return ballot(!predicate) == 0; }
  template <class T> FLYDSL_CG lane_mask match_any(T value) const {
    lane_mask same = 0;
    for (unsigned rank = 0; rank < Size; ++rank)
      same |= lane_mask(impl::sameBytes(value, shfl(value, static_cast<int>(rank)))) << rank;
    return same;
  }
  template <class T> FLYDSL_CG lane_mask match_all(T value, int &predicate) const {
    predicate = all(impl::sameBytes(value, shfl(value, 0)));
    return predicate ? ballot(1) : 0;
  }
  /// A tile is one whatever group it is a part of.
  FLYDSL_CG operator thread_block_tile<Size, void>() const {
    return thread_block_tile<Size, void>(tile_, tiles_);
  }

private:
  template <unsigned, class> friend class thread_block_tile;
  template <unsigned S, class P>
  friend FLYDSL_CG thread_block_tile<S, P> tiled_partition(const P &);
  template <unsigned S, class P>
  friend FLYDSL_CG coalesced_group binary_partition(const thread_block_tile<S, P> &, bool);
  FLYDSL_CG static unsigned first() { return impl::laneOfWave() & ~(Size - 1); }
  FLYDSL_CG explicit thread_block_tile(unsigned tile, unsigned tiles)
      : thread_group(group_kind::lanes, (~lane_mask(0) >> (64 - Size)) << first()), tile_(tile),
        tiles_(tiles) {}
  unsigned tile_, tiles_;
};

namespace impl {
template <class> inline constexpr unsigned kThreadsOf = 0; // of a tile; else known at run time
template <unsigned Size, class Parent>
inline constexpr unsigned kThreadsOf<thread_block_tile<Size, Parent>> = Size;
} // namespace impl

/// Tiles of `Size` neighbours of a block or of a tile. A tile of more threads than the target's
/// waves have is no tile of a wave and traps.
template <unsigned Size, class Parent>
FLYDSL_CG thread_block_tile<Size, Parent> tiled_partition(const Parent &parent) {
  static_assert(impl::kThreadsOf<Parent> == 0 || Size <= impl::kThreadsOf<Parent>,
                "a tile is no larger than the tile that it is a part of");
  if (Size > impl::waveSize())
    __builtin_trap();
  return thread_block_tile<Size, Parent>(parent.thread_rank() / Size,
                                         (parent.num_threads() + Size - 1) / Size);
}

/// Groups of `size` neighbours of the group.
FLYDSL_CG coalesced_group tiled_partition(const coalesced_group &parent, unsigned size) {
  if (!size || (size & (size - 1)))
    __builtin_trap();
  const unsigned tile = parent.thread_rank() / size;
  lane_mask mine = 0;
  unsigned rank = 0;
  for (lane_mask todo = parent.lanes_; todo; todo &= todo - 1, ++rank)
    if (rank / size == tile)
      mine |= todo & (~todo + 1);
  return coalesced_group(mine, tile, (parent.size() + size - 1) / size);
}
FLYDSL_CG thread_group tiled_partition(const thread_group &parent, unsigned size) {
  if (!size || (size & (size - 1)) || size > impl::waveSize())
    __builtin_trap();
  const lane_mask whole = size == 64 ? ~lane_mask(0) : (lane_mask(1) << size) - 1;
  return thread_group::of(whole << (impl::laneOfWave() & ~(size - 1)));
}

/// The lanes of the group whose predicate is the calling lane's.
FLYDSL_CG coalesced_group binary_partition(const coalesced_group &parent, bool predicate) {
  const lane_mask yes = __ballot(predicate) & parent.lanes_;
  return coalesced_group(predicate ? yes : parent.lanes_ & ~yes, predicate ? 0 : 1, 2);
}
template <unsigned Size, class Parent>
FLYDSL_CG coalesced_group binary_partition(const thread_block_tile<Size, Parent> &parent,
                                           bool predicate) {
  const lane_mask yes = __ballot(predicate) & parent.lanes_;
  return coalesced_group(predicate ? yes : parent.lanes_ & ~yes, predicate ? 0 : 1, 2);
}

FLYDSL_CG unsigned thread_group::size() const {
  switch (kind_) {
  case group_kind::grid:
    return static_cast<unsigned>(static_cast<const grid_group &>(*this).size());
  case group_kind::block:
    return impl::threadsOfBlock();
  case group_kind::lanes:
    return static_cast<unsigned>(__builtin_popcountll(lanes_));
  }
  return 0;
}
FLYDSL_CG unsigned thread_group::thread_rank() const {
  switch (kind_) {
  case group_kind::grid:
    return static_cast<unsigned>(static_cast<const grid_group &>(*this).thread_rank());
  case group_kind::block:
    return impl::threadOfBlock();
  case group_kind::lanes:
    return static_cast<unsigned>(__builtin_popcountll(lanes_ & impl::below(impl::laneOfWave())));
  }
  return 0;
}
FLYDSL_CG void thread_group::sync() const {
  switch (kind_) {
  case group_kind::grid:
    return impl::syncGrid();
  case group_kind::block:
    return __syncthreads();
  case group_kind::lanes:
    return impl::syncWave();
  }
}

// The same as functions.
template <class Group> FLYDSL_CG auto group_size(const Group &group) { return group.size(); }
template <class Group> FLYDSL_CG auto thread_rank(const Group &group) {
  return group.thread_rank();
}
template <class Group> FLYDSL_CG bool is_valid(const Group &group) { return group.is_valid(); }
template <class Group> FLYDSL_CG void sync(const Group &group) { group.sync(); }

#undef FLYDSL_CG
} // namespace cooperative_groups

#endif
