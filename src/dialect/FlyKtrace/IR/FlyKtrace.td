// The FlyKtrace dialect: marks and ranges of time that a kernel records.
#ifndef FLYDSL_DIALECT_FLYKTRACE_TD
#define FLYDSL_DIALECT_FLYKTRACE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def FlyKtrace_Dialect : Dialect {
  let name = "fly_ktrace";
  let cppNamespace = "::mlir::fly_ktrace";
  let summary = "Events of a kernel on a timeline";
  let description = [{
    Each operation records one event a wave, with the time, into a buffer that is the kernel's last argument
    (`!fly.ptr<i8, global>`). Names are resolved when the kernel is lowered.
  }];
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = "void registerTypes();";
}

def FlyKtrace_Token : TypeDef<FlyKtrace_Dialect, "Token"> {
  let summary = "a range that was started";
  let mnemonic = "token";
}

// An event that is not used for anything is recorded all the same.
class FlyKtrace_Op<string mnemonic, list<Trait> traits = []> : Op<FlyKtrace_Dialect, mnemonic, traits>;

// `payload` is a number of 64 bits beside the time: that of the first active lane. `payload_type`
// says what its bits are: uint64, int64, float32, float64 or bool.
class FlyKtrace_Event<string mnemonic> : FlyKtrace_Op<mnemonic> {
  let hasVerifier = 1;
  code verifier = [{
    ::llvm::LogicalResult $cppClass::verify() { return verifyPayload(*this, getPayloadType()); }
  }];
  let extraClassDefinition = verifier;
}

def FlyKtrace_MarkOp : FlyKtrace_Event<"mark"> {
  let summary = "a point in time";
  let arguments = (ins StrAttr:$event_name, Optional<I64>:$payload,
                       DefaultValuedStrAttr<StrAttr, "uint64">:$payload_type);
  let assemblyFormat = "$event_name (`payload` $payload^ `:` type($payload))? attr-dict";
}

def FlyKtrace_RangePushOp : FlyKtrace_Event<"range_push"> {
  let summary = "begins a range inside of those that are open";
  let arguments = (ins StrAttr:$event_name, Optional<I64>:$payload,
                       DefaultValuedStrAttr<StrAttr, "uint64">:$payload_type);
  let assemblyFormat = "$event_name (`payload` $payload^ `:` type($payload))? attr-dict";
}

def FlyKtrace_RangePopOp : FlyKtrace_Event<"range_pop"> {
  let summary = "ends the range that was pushed last";
  let arguments = (ins Optional<I64>:$payload, DefaultValuedStrAttr<StrAttr, "uint64">:$payload_type);
  let assemblyFormat = "(`payload` $payload^ `:` type($payload))? attr-dict";
}

def FlyKtrace_RangeStartOp : FlyKtrace_Event<"range_start"> {
  let summary = "begins a range that its token ends, in any order";
  let arguments = (ins StrAttr:$event_name, Optional<I64>:$payload,
                       DefaultValuedStrAttr<StrAttr, "uint64">:$payload_type);
  let results = (outs FlyKtrace_Token:$token);
  let assemblyFormat =
      "$event_name (`payload` $payload^ `:` type($payload))? attr-dict `->` qualified(type($token))";
}

def FlyKtrace_RangeStopOp : FlyKtrace_Event<"range_stop"> {
  let summary = "ends the range of a token; nothing where the token is inactive";
  let arguments = (ins FlyKtrace_Token:$token, StrAttr:$event_name, Optional<I64>:$payload,
                       DefaultValuedStrAttr<StrAttr, "uint64">:$payload_type);
  let assemblyFormat = [{
    $token `,` $event_name (`payload` $payload^ `:` type($payload))? attr-dict `:` qualified(type($token))
  }];
}

def FlyKtrace_InactiveTokenOp : FlyKtrace_Op<"inactive_token", [Pure]> {
  let summary = "a token of no range, for a loop that ends the range of the turn before";
  let results = (outs FlyKtrace_Token:$token);
  let assemblyFormat = "attr-dict `->` qualified(type($token))";
}

#endif // FLYDSL_DIALECT_FLYKTRACE_TD
