// Collectives of a wave and of a block: what the threads of a wave or a block do together.
#pragma once

#include <flydsl/coop/block_exchange.h>
#include <flydsl/coop/block_histogram.h>
#include <flydsl/coop/block_load.h>
#include <flydsl/coop/block_neighbours.h>
#include <flydsl/coop/block_radix.h>
#include <flydsl/coop/block_reduce.h>
#include <flydsl/coop/block_run_length.h>
#include <flydsl/coop/block_scan.h>
#include <flydsl/coop/block_topk.h>
#include <flydsl/coop/merge_sort.h>
#include <flydsl/coop/warp.h>
#include <flydsl/coop/warp_exchange.h>
#include <flydsl/coop/warp_match.h>
