"""A user's own ``pm.Model`` read as a generative classifier.

Structure only proposes what a part of the model is; its density proves it. Every file here holds one step:

labels → blocks → rows → proposals → matches → priors → proof → collapsing → recognition → fitted
"""
