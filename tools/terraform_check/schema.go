// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"log"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// A block as `terraform providers schema -json` writes it.
type blockJSON struct {
	Attributes map[string]struct {
		Type     json.RawMessage `json:"type"`
		Required bool            `json:"required"`
		Optional bool            `json:"optional"`
		Computed bool            `json:"computed"`
	} `json:"attributes"`
	Blocks map[string]struct {
		Nesting string    `json:"nesting_mode"`
		Block   blockJSON `json:"block"`
		Min     int64     `json:"min_items"`
		Max     int64     `json:"max_items"`
	} `json:"block_types"`
}

var nestings = map[string]tfprotov6.SchemaNestedBlockNestingMode{
	"single": tfprotov6.SchemaNestedBlockNestingModeSingle,
	"list":   tfprotov6.SchemaNestedBlockNestingModeList,
	"set":    tfprotov6.SchemaNestedBlockNestingModeSet,
}

func (b blockJSON) schema() *tfprotov6.Schema { return &tfprotov6.Schema{Block: b.block()} }

func (b blockJSON) block() *tfprotov6.SchemaBlock {
	block := &tfprotov6.SchemaBlock{}
	for name, each := range b.Attributes {
		kind, err := tftypes.ParseJSONType(each.Type)
		if err != nil {
			log.Fatal(name, ": ", err)
		}
		block.Attributes = append(block.Attributes, &tfprotov6.SchemaAttribute{
			Name: name, Type: kind,
			Required: each.Required, Optional: each.Optional, Computed: each.Computed,
		})
	}
	for name, each := range b.Blocks {
		nesting, known := nestings[each.Nesting]
		if !known {
			log.Fatal(name, ": nesting ", each.Nesting)
		}
		block.BlockTypes = append(block.BlockTypes, &tfprotov6.SchemaNestedBlock{
			TypeName: name, Block: each.Block.block(), Nesting: nesting,
			MinItems: each.Min, MaxItems: each.Max,
		})
	}
	return block
}
