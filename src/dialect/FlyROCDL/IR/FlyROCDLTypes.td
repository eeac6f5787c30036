// All types of the FlyROCDL dialect.
include "dialect/FlyROCDL/IR/CDNA3Types.td"
include "dialect/FlyROCDL/IR/CDNA4Types.td"
include "dialect/FlyROCDL/IR/CDNA5Types.td"
include "dialect/FlyROCDL/IR/GFX1250Types.td"
include "dialect/FlyROCDL/IR/RDNATypes.td"
