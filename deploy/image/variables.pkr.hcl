# SPDX-License-Identifier: Apache-2.0
variable "programs" {
  description = "Folder with tidemill-agent and tidemill-init for Linux on x86-64."
  type        = string
}

variable "version" {
  description = "Part of the images' names."
  type        = string
}

variable "region" {
  description = "Where AWS makes the image."
  type        = string
  default     = "us-east-1"
}

variable "project" {
  description = "The project of Google's in which the image is made."
  type        = string
  default     = ""
}

variable "zone" {
  description = "Where Google makes the image."
  type        = string
  default     = "us-central1-a"
}
