"""A user's own ``pm.Model`` read as a generative classifier.

Structure only proposes what a part of the model is; its density proves it. Every file here holds one step:

label → blocks → cloning → proposals → matches → prior_density → proof → collapsing → recognition → solving
"""
