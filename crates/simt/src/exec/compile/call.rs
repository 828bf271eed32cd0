//! Compiles `call`.

use super::super::layout::Place;
use super::super::names::Names;
use super::super::step::{Builtin, CallSite, CallTarget, Rare};
use super::super::uses::Use;
use super::Unit;
use crate::decode::{Columns, DecodeError};
use crate::ptx::{Body, FunctionKind, Instruction, LabelMeaning, Operand, ScalarType, SymbolMeaning};
use crate::registers::Width;

impl Unit<'_, '_> {
    pub(super) fn call(&mut self, instruction: &Instruction, uses: &mut Use) -> Result<Rare, DecodeError> {
        let wrong = |what: String| Err(DecodeError::operands(instruction, what));
        let Some(call) = instruction.call() else { return wrong("not the operands of a call".to_owned()) };
        let names = self.compiler.names;
        let (target, parameters, returns) = match call.target {
            Operand::Symbol(symbol, 0) if symbol.meaning == SymbolMeaning::Module => {
                let Some(number) = names.function(&symbol.name) else {
                    return wrong(format!("`{}` is no function", symbol.name));
                };
                let function = names.functions[number as usize];
                if function.kind == FunctionKind::Entry {
                    return wrong(format!("`{}` is a kernel", symbol.name));
                }
                let target = match Builtin::new(&function.name) {
                    Some((builtin, parameters, returns)) if function.body.is_none() => {
                        if (function.parameters.len(), function.returns.len()) != (parameters, returns) {
                            return wrong(format!("`{}` is declared with other parameters", symbol.name));
                        }
                        CallTarget::Builtin(builtin)
                    }
                    _ => CallTarget::Function(number),
                };
                (target, &function.parameters, &function.returns)
            }
            register @ Operand::Register(_) => {
                let slot = self.layout.source(register, ScalarType::U64)?;
                if slot.width != Width::Double {
                    return wrong("the address of a function has 64 bits".to_owned());
                }
                uses.sources.push(slot);
                uses.address = Some(slot);
                let label = call.prototype.and_then(|label| self.body.labels.get(label.0 as usize));
                match label.map(|label| &label.meaning) {
                    Some(LabelMeaning::Prototype(prototype)) => {
                        (CallTarget::Address(slot), &prototype.parameters, &prototype.returns)
                    }
                    Some(LabelMeaning::CallTargets(targets)) => {
                        let first = targets.first().and_then(|name| names.function(name));
                        let Some(number) = first else {
                            return wrong("an empty list of functions".to_owned());
                        };
                        let function = names.functions[number as usize];
                        (CallTarget::Address(slot), &function.parameters, &function.returns)
                    }
                    _ => return wrong("a call through a register needs a prototype".to_owned()),
                }
            }
            _ => return wrong("neither a function nor a register with the address of one".to_owned()),
        };
        if (call.arguments.len(), call.returns.len()) != (parameters.len(), returns.len()) {
            return wrong(format!(
                "{} arguments and {} results, where the function has {} and {}",
                call.arguments.len(),
                call.returns.len(),
                parameters.len(),
                returns.len()
            ));
        }
        let mut arguments = Vec::new();
        for (argument, parameter) in call.arguments.iter().zip(parameters) {
            let place = self.argument(argument, parameter.scalar, false)?;
            uses.sources.push(place.column());
            if parameter.size() != Some(u64::from(place.size())) && parameter.scalar.size().is_some() {
                return wrong(format!(
                    "an argument of {} bytes for the parameter `{}` of {}",
                    place.size(),
                    parameter.name,
                    parameter.size().unwrap_or(0)
                ));
            }
            arguments.push(place);
        }
        let mut results = Vec::new();
        for (result, parameter) in call.returns.iter().zip(returns) {
            let place = self.argument(result, parameter.scalar, true)?;
            uses.results.push(place.column());
            results.push(place);
        }
        let site = CallSite { target, arguments: arguments.into(), returns: results.into() };
        Ok(Rare::Call(Box::new(site)))
    }

    fn argument(
        &mut self,
        operand: &Operand,
        scalar: ScalarType,
        is_result: bool,
    ) -> Result<Place, DecodeError> {
        if let Operand::Symbol(symbol, 0) = operand
            && !matches!(symbol.meaning, SymbolMeaning::Module)
        {
            return self.layout.parameter(symbol).map(Place::Bytes);
        }
        let slot = if is_result {
            self.layout.result(operand, scalar)?
        } else {
            self.layout.source(operand, scalar)?
        };
        if slot.width != Width::of(scalar) {
            return Err(self.misfit("an argument of another size than the parameter"));
        }
        Ok(Place::Register(slot, scalar.size().unwrap_or(0)))
    }
}

/// Returns the functions that a body names, and whether it calls any by address.
pub(in super::super) fn references(names: &Names<'_>, body: &Body) -> (Vec<(u32, u32)>, bool) {
    let mut found = Vec::new();
    let mut by_address = false;
    for instruction in &body.instructions {
        let line = instruction.position.line;
        let mut operands: Vec<&Operand> = instruction.operands.iter().collect();
        while let Some(operand) = operands.pop() {
            match operand {
                Operand::Symbol(symbol, _) if symbol.meaning == SymbolMeaning::Module => {
                    found.extend(names.function(&symbol.name).map(|function| (function, line)));
                }
                Operand::Vector(list) | Operand::List(list) => operands.extend(list),
                Operand::Pair(pair) => operands.extend(pair.iter()),
                _ => {}
            }
        }
        by_address |= instruction.call().is_some_and(|call| matches!(call.target, Operand::Register(_)));
    }
    for label in &body.labels {
        if let LabelMeaning::CallTargets(targets) = &label.meaning {
            found
                .extend(targets.iter().filter_map(|name| Some((names.function(name)?, label.position.line))));
        }
    }
    (found, by_address)
}
