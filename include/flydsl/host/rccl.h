// Groups over communicators of RCCL, for engines that have one.
#pragma once

#include <flydsl/host/group.h>

#include <filesystem>

// RCCL's opaque type (rccl.h). It is declared here so that no other header needs RCCL.
struct ncclComm;

FLYDSL_NAMESPACE_BEGIN

/// The calling rank's part in a group of the communicator's ranks, on the communicator's device, which is
/// the current one. All ranks call at one time, as they do for a collective of RCCL, each in a thread or
/// a process of its own; one all-gather tells them where the windows are. Afterwards group and
/// communicator are independent of each other, but the calls of both that use one stream are in order.
///
/// librccl is that of the process: what the program is linked with, or has loaded; `library` is the
/// path of another one. Nothing is loaded if there is none. Throws RuntimeError if librccl is not there,
/// lacks a function, or is older than 2.9 or not of version 2; if RCCL reports an error, or the
/// communicator is still being made; if the communicator has another number of ranks than 2, 4 or 8, or
/// another device than the current one; if ranks are on several machines (`ncclCommSplit` makes a
/// communicator of those of each); if another rank refuses; if one does not call within `options.timeout`
/// (the calls of a communicator that blocks may wait longer, inside of RCCL); between ncclGroupStart and
/// ncclGroupEnd; and as GroupOffer does. What RCCL may still write after an error, and a window that a late
/// rank may still take, stay until the process ends.
FLYDSL_API Group
group_of_communicator(ncclComm *communicator, const GroupOptions &options = {},
                      const std::filesystem::path &library = {},
                      std::source_location where = std::source_location::current());

FLYDSL_NAMESPACE_END
