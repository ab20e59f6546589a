package moves_test

// A machine is of a custom kind that has lists and maps of all sorts, and structs of which one of two members is allowed.
func machine() kindCase {
	return kindCase{
		name: "Machine",
		base: `{apiVersion: moves.example.com/v1, kind: Machine, spec: {size: 1, slots: [{name: base, value: x}]}}`,
		parts: []part{
			{name: "slot", path: "spec.slots[name=a]", isPlain: true, variants: []string{
				"x {value: x}", "z {value: z, note: z}", "gas {value: x, engine: {gas: {octane: 95}}}",
				"power {value: x, engine: {power: {volts: 12}}}",
			}},
			{name: "slotB", path: "spec.slots[name=b]", variants: []string{"x {value: x}"}},
			{name: "door", path: "spec.doors[port=80,layer=L4]", variants: []string{"a {label: a}", "b {label: b, note: c}"}},
			{name: "door7", path: "spec.doors[port=80,layer=L7]", variants: []string{"a {label: a}"}},
			{name: "red", path: "spec.tags[red]", variants: []string{"on null"}},
			{name: "blue", path: "spec.tags[blue]", variants: []string{"on null"}},
			{name: "list", path: "spec.list", variants: []string{"a [a]", "ab [a, b]"}},
			{name: "whole", path: "spec.whole", variants: []string{"a {a: x}", "b {b: x, a: z}"}},
			{name: "limit", path: "spec.limits[cpu]", variants: []string{"x x", "z z"}},
			{name: "engine", path: "spec.engine", isPlain: true, variants: []string{
				"gas {gas: {octane: 95}}", "diesel {gas: {octane: 50, brand: d}}", "power {power: {volts: 400}}",
				"cooled {power: {volts: 12, phases: 3}, cooling: {fan: true}}",
			}},
			{name: "wing", path: "spec.parts[wing]", isPlain: true, variants: []string{
				"small {size: 3}", "rooms {size: 3, rooms: [{name: a, colour: red}]}", "other {rooms: [{name: a, colour: blue}, {name: b}]}",
			}},
			{name: "interval", path: "spec.interval", isPlain: true, variants: []string{"two 2m", "three 3m"}},
			{name: "free", path: "spec.free", variants: []string{"a {a: x}", "b {a: {b: [1]}}"}},
		},
		legacy: []part{
			{name: "oldSlot", path: "spec.slots[name=old]", variants: []string{"x {value: x}"}},
			{name: "oldTag", path: "spec.tags[old]", variants: []string{"on null"}},
			{name: "oldLimit", path: "spec.limits[old]", variants: []string{"x x"}},
			{name: "oldDoor", path: "spec.doors[port=90,layer=L4]", variants: []string{"a {label: old}"}},
			{name: "oldPart", path: "spec.parts[old]", variants: []string{"small {size: 1}"}},
			{name: "oldColour", path: "spec.colour", isPlain: true, variants: []string{"dark green"}},
			{name: "oldNote", path: "spec.slots[name=base].note", isLoose: true, isPlain: true, variants: []string{"x x"}},
			{name: "oldStart", path: "spec.engine.start", in: "engine", isPlain: true, variants: []string{"x x"}},
			{name: "oldSlotNote", path: "spec.slots[name=a].note", in: "slot", isPlain: true, variants: []string{"x x"}},
			{name: "oldRoom", path: "spec.parts[wing].rooms[name=old]", in: "wing", isPlain: true, variants: []string{"x {colour: x}"}},
		},
		theirs: []part{
			{name: "slot", path: "spec.slots[name=theirs]", variants: []string{"x {value: x}"}},
			{name: "tag", path: "spec.tags[theirs]", variants: []string{"on null"}},
			{name: "limit", path: "spec.limits[theirs]", variants: []string{"x x"}},
			{name: "flag", path: "spec.flag", variants: []string{"x x"}},
			{name: "baseFlag", path: "spec.slots[name=base].flag", variants: []string{"x x"}},
			{name: "engineFlag", path: "spec.engine.flag", in: "engine", variants: []string{"x x"}},
			{name: "room", path: "spec.parts[wing].rooms[name=theirs]", in: "wing", variants: []string{"x {colour: x}"}},
		},
	}
}

const machines = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: machines.moves.example.com}
spec:
  group: moves.example.com
  scope: Namespaced
  names: {plural: machines, singular: machine, kind: Machine, listKind: MachineList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              interval: {type: string, default: 1m}
              colour: {type: string, default: blue}
              flag: {type: string}
              list: {type: array, items: {type: string}}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              limits: {type: object, additionalProperties: {type: string}}
              whole: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              slots:
                type: array
                maxItems: 8
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name, value]
                  properties:
                    name: {type: string}
                    value: {type: string}
                    note: {type: string}
                    flag: {type: string}
                    engine: &engine
                      type: object
                      x-kubernetes-validations: [{rule: has(self.gas) != has(self.power), message: one of gas and power}]
                      properties:
                        start: {type: string}
                        flag: {type: string}
                        gas: {type: object, required: [octane], properties: {octane: {type: integer}, brand: {type: string, default: b}}}
                        power: {type: object, required: [volts], properties: {volts: {type: integer}, phases: {type: integer, default: 1}}}
                        cooling: {type: object, properties: {fan: {type: boolean}, speed: {type: integer, default: 2}}}
              engine: *engine
              doors:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port, layer]
                items:
                  type: object
                  required: [port, label]
                  properties: {port: {type: integer}, layer: {type: string, default: L4}, label: {type: string}, note: {type: string}}
              parts:
                type: object
                additionalProperties:
                  type: object
                  properties:
                    size: {type: integer}
                    rooms:
                      type: array
                      x-kubernetes-list-type: map
                      x-kubernetes-list-map-keys: [name]
                      items: {type: object, required: [name], properties: {name: {type: string}, colour: {type: string}}}
`
