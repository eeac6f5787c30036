// What ROCm's device libraries ask for the processor: one constant, which each installation of them has for the
// processors of its time only.
__attribute__((visibility("protected"))) constant int __oclc_ISA_version = ISA_VERSION;
