// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// What the configuration leaves open and the cloud would say is not known in a plan, and made up when
// it is applied or read.
type filler func(path *tftypes.AttributePath, kind tftypes.Type) (tftypes.Value, error)

func unknown(_ *tftypes.AttributePath, kind tftypes.Type) (tftypes.Value, error) {
	return tftypes.NewValue(kind, tftypes.UnknownValue), nil
}

func (s *stub) madeUp(resource string, value *tfprotov6.DynamicValue, schema *tfprotov6.Schema) filler {
	known := knownTexts(value, schema)
	return func(path *tftypes.AttributePath, kind tftypes.Type) (tftypes.Value, error) {
		name := nameOf(path)
		text := resource + "." + name
		if given, found := s.values[resource][name]; found {
			text = given
			for other, is := range known {
				text = strings.ReplaceAll(text, "{"+other+"}", is)
			}
		}
		return invent(kind, text), nil
	}
}

// The attributes that are text and known, by name: {name} in values.json stands for one.
func knownTexts(value *tfprotov6.DynamicValue, schema *tfprotov6.Schema) map[string]string {
	texts := map[string]string{}
	tree, err := value.Unmarshal(schema.ValueType())
	fields := map[string]tftypes.Value{}
	if err != nil || tree.As(&fields) != nil {
		return texts
	}
	for name, field := range fields {
		text := ""
		if field.Type().Is(tftypes.String) && field.IsKnown() && field.As(&text) == nil {
			texts[name] = text
		}
	}
	return texts
}

func nameOf(path *tftypes.AttributePath) string {
	name := ""
	for _, step := range path.Steps() {
		if each, is := step.(tftypes.AttributeName); is {
			name = string(each)
		}
	}
	return name
}

func invent(kind tftypes.Type, text string) tftypes.Value {
	if list, is := kind.(tftypes.List); is {
		return tftypes.NewValue(kind, inventTwo(list.ElementType, text))
	}
	if set, is := kind.(tftypes.Set); is {
		return tftypes.NewValue(kind, inventTwo(set.ElementType, text))
	}
	switch {
	case kind.Is(tftypes.String):
		return tftypes.NewValue(kind, text)
	case kind.Is(tftypes.Number):
		return tftypes.NewValue(kind, 1)
	case kind.Is(tftypes.Bool):
		return tftypes.NewValue(kind, false)
	case kind.Is(tftypes.DynamicPseudoType):
		return inventObjects(text)
	}
	return tftypes.NewValue(kind, nil)
}

func inventTwo(kind tftypes.Type, text string) []tftypes.Value {
	return []tftypes.Value{invent(kind, text+"-1"), invent(kind, text+"-2")}
}

// Objects whose names the schema does not have; those that the configuration reads.
func inventObjects(text string) tftypes.Value {
	names := []string{"secret_arn", "ip_address", "nat_ip"}
	object := tftypes.Object{AttributeTypes: map[string]tftypes.Type{}}
	values := map[string]tftypes.Value{}
	for _, name := range names {
		object.AttributeTypes[name] = tftypes.String
		values[name] = tftypes.NewValue(tftypes.String, text+"."+name)
	}
	return tftypes.NewValue(tftypes.Tuple{ElementTypes: []tftypes.Type{object}},
		[]tftypes.Value{tftypes.NewValue(object, values)})
}

// Fills what is open (null and computed, or not known) in a value of the block.
func fill(value tftypes.Value, block *tfprotov6.SchemaBlock, with filler) (tftypes.Value, error) {
	return tftypes.Transform(value, func(path *tftypes.AttributePath, each tftypes.Value) (
		tftypes.Value, error) {
		attribute := find(path, block)
		if attribute == nil || (each.IsKnown() && !each.IsNull()) {
			return each, nil
		}
		if each.IsKnown() && !attribute.Computed {
			return each, nil
		}
		return with(path, attribute.Type)
	})
}

// The attribute that a path leads to; nil if it leads to a block or into an attribute.
func find(path *tftypes.AttributePath, block *tfprotov6.SchemaBlock) *tfprotov6.SchemaAttribute {
	steps := path.Steps()
	for i, step := range steps {
		name, is := step.(tftypes.AttributeName)
		if !is {
			continue // which of several blocks
		}
		for _, each := range block.Attributes {
			if each.Name == string(name) && i == len(steps)-1 {
				return each
			}
		}
		var inner *tfprotov6.SchemaBlock
		for _, each := range block.BlockTypes {
			if each.TypeName == string(name) {
				inner = each.Block
			}
		}
		if inner == nil {
			return nil
		}
		block = inner
	}
	return nil
}

// Fills a value on the wire.
func filled(value *tfprotov6.DynamicValue, schema *tfprotov6.Schema, with filler) (
	*tfprotov6.DynamicValue, error) {
	if schema == nil {
		return nil, fmt.Errorf("no schema")
	}
	kind := schema.ValueType()
	tree, err := value.Unmarshal(kind)
	if err != nil || tree.IsNull() {
		return value, err
	}
	tree, err = fill(tree, schema.Block, with)
	if err != nil {
		return nil, err
	}
	answer, err := tfprotov6.NewDynamicValue(kind, tree)
	return &answer, err
}

func (s *stub) PlanResourceChange(_ context.Context, r *tfprotov6.PlanResourceChangeRequest) (
	*tfprotov6.PlanResourceChangeResponse, error) {
	planned, err := filled(r.ProposedNewState, s.resource[r.TypeName], unknown)
	return &tfprotov6.PlanResourceChangeResponse{PlannedState: planned}, err
}

func (s *stub) ApplyResourceChange(_ context.Context, r *tfprotov6.ApplyResourceChangeRequest) (
	*tfprotov6.ApplyResourceChangeResponse, error) {
	schema := s.resource[r.TypeName]
	made, err := filled(r.PlannedState, schema, s.madeUp(r.TypeName, r.PlannedState, schema))
	return &tfprotov6.ApplyResourceChangeResponse{NewState: made}, err
}

func (s *stub) ReadDataSource(_ context.Context, r *tfprotov6.ReadDataSourceRequest) (
	*tfprotov6.ReadDataSourceResponse, error) {
	schema := s.data[r.TypeName]
	found, err := filled(r.Config, schema, s.madeUp(r.TypeName, r.Config, schema))
	return &tfprotov6.ReadDataSourceResponse{State: found}, err
}

func (s *stub) ReadResource(_ context.Context, r *tfprotov6.ReadResourceRequest) (
	*tfprotov6.ReadResourceResponse, error) {
	return &tfprotov6.ReadResourceResponse{NewState: r.CurrentState}, nil
}

func (s *stub) UpgradeResourceState(_ context.Context, r *tfprotov6.UpgradeResourceStateRequest) (
	*tfprotov6.UpgradeResourceStateResponse, error) {
	kind := s.resource[r.TypeName].ValueType()
	tree, err := r.RawState.Unmarshal(kind)
	if err != nil {
		return nil, err
	}
	state, err := tfprotov6.NewDynamicValue(kind, tree)
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &state}, err
}
